#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/tuner.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::app {

// The lines of JSON between a search and what chooses its trials (docs/algorithms.md#program), in both
// directions: Skyline asks a program of the user, or another program asks Skyline (`skyline sampler`).
// Skyline speaks first. Lines that are written end with a line feed. Readers ignore members that they do not
// know, and throw UserError with the mistake alone.

/// Limit in bytes of a line that Skyline reads.
constexpr std::size_t kLongestTunerLine = std::size_t{1} << 20;
/// Most trials of a question.
constexpr std::size_t kMostAsked = 10'000;

/// Writes the first line: parameters with their values, objectives, constraints, names of computed metrics.
std::string task_line(const search::TunerTask& task);

/// Writes a question. @param recorded  the answer that is known already; nullptr if one is expected
std::string question_line(const search::TunerQuestion& question, const space::SearchSpace& space,
                          const std::vector<space::Genotype>* recorded = nullptr);

/// Writes a question for the costs of some architectures.
std::string count_line(const std::vector<space::Genotype>& genotypes, const space::SearchSpace& space);

/// Writes a result. @param number  no value for a trial that was not asked for
std::string result_line(std::optional<trial::TrialNumber> number, const trial::CommittedTrial& result,
                        const space::SearchSpace& space, const objective::ObjectiveSet& objectives);

/// Writes the sampler's answer to a question. @param first  number of the first proposal, also if there is
/// none
std::string answer_line(const search::TunerAnswer& answer, trial::TrialNumber first,
                        const space::SearchSpace& space);
/// Writes the sampler's answer to a result. @param number  that of its trial
std::string told_line(trial::TrialNumber number);
/// Writes the sampler's answer to a line that it refuses.
std::string error_line(const std::string& mistake);

/// Reads an answer.
search::TunerAnswer read_answer(std::string_view line, const space::SearchSpace& space);

/// A result that another program tells.
struct ToldResult {
  std::optional<trial::TrialNumber> number;  // no value for a trial that was not asked for
  std::optional<space::Genotype> genotype;   // there if the trial was not asked for
  trial::Outcome outcome;
};

/// What another program says: how many trials it asks for, or a result.
using SamplerRequest = std::variant<std::size_t, ToldResult>;

/// Reads a question or a result.
/// @param metrics  of Measurements::values
/// @param needed   metrics that a result must have
SamplerRequest read_request(std::string_view line, const space::SearchSpace& space,
                            const std::vector<trial::Metric>& metrics,
                            const std::vector<std::string>& needed);

}  // namespace skyline::app

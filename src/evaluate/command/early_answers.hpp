#pragma once

#include "skyline/trial/trial.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace skyline::evaluate {

/// What the programs measured that are asked before a training, by metric.
using EarlyAnswers = std::map<std::string, double>;

// The answers for a trial stay in the run's folder, trainer/asked/17.json, so that no later attempt or job
// asks again, and full trainings need not ask.

/// Returns the recorded answers for a trial; none if there is no record, or it is damaged or of another
/// trial.
/// @throws FaultError if the storage cannot be read
EarlyAnswers read_early_answers(const std::filesystem::path& run, const trial::Trial& trial);
/// Returns the recorded answers for the search trial that a full training trains, likewise.
/// @throws FaultError if the storage cannot be read
EarlyAnswers read_searched_answers(const std::filesystem::path& run, const trial::Trial& full_training);
/// Records answers. @throws FaultError if they cannot be written
void write_early_answers(const std::filesystem::path& run, const trial::Trial& trial,
                         const EarlyAnswers& answers);
/// Removes the record of a trial, if there is one. @throws Problem
void remove_early_answers(const std::filesystem::path& run, trial::TrialName trial);

}  // namespace skyline::evaluate

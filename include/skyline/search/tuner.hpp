#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// A program of the user that chooses trials (`algorithm: program`).
struct TunerProgram {
  std::vector<std::string> run;  // program and arguments
  double timeout_s = 600;        // how long it may be silent when something is expected of it
};

/// The task of a tuner. The references are only valid during the call that gets them.
struct TunerTask {
  const space::SearchSpace& space;
  const objective::ObjectiveSet& objectives;
  std::uint64_t seed = 0;
  std::size_t trials = 0;  // most trials of the search
};

/// A question for the next trials.
struct TunerQuestion {
  std::size_t count = 1;         // number of trials
  std::uint64_t seed = 0;        // below 2^31; depends on the run's seed and on `first`
  trial::TrialNumber first = 0;  // number of the first of them
};

/// The answer to a question.
struct TunerAnswer {
  std::vector<space::Genotype> genotypes;  // at most as many as were asked for
  bool is_done = false;                    // nothing more will be proposed
};

/// A tuner that runs. No function waits, so that rank 0's main thread may call all of them; one thread does.
class Tuner {
 public:
  virtual ~Tuner() = default;
  /// Asks a question. @pre the last one is answered
  virtual void ask(const TunerQuestion& question) = 0;
  /// Tells a question that an earlier job asked, with the recorded answer. @pre the last question is answered
  virtual void repeat(const TunerQuestion& question, const std::vector<space::Genotype>& recorded) = 0;
  /// Tells a result. @param number  no value for a result that was known before the search
  virtual void tell(std::optional<trial::TrialNumber> number, const trial::CommittedTrial& result) = 0;
  /// Returns the answer to the question, or nullopt until it is there.
  /// @throws UserError for an answer that names no point of the space, FaultError if the tuner has ended or
  ///         is silent for too long
  virtual std::optional<TunerAnswer> answer() = 0;
  /// Says that nothing more will be asked or told. Later calls do nothing.
  virtual void end() = 0;
};

/// Starts a tuner, which gets the task before all else. It does not wait.
using TunerStart = std::function<std::unique_ptr<Tuner>(const TunerProgram& program, const TunerTask& task)>;

}  // namespace skyline::search

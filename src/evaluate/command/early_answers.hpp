#pragma once

#include "skyline/trial/trial.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace skyline::evaluate {

/// What the programs measured that are asked before a training, by metric.
using EarlyAnswers = std::map<std::string, double>;

// The answers for a trial stay in the run's folder, trainer/asked/17.json, so that no later attempt or job
// asks again.

/// Returns the recorded answers for a trial; none if there is no record, or it is damaged or of another
/// trial.
/// @throws FaultError if the storage cannot be read
EarlyAnswers read_early_answers(const std::filesystem::path& run, const trial::Trial& trial);
/// Records answers. @throws FaultError if they cannot be written
void write_early_answers(const std::filesystem::path& run, const trial::Trial& trial,
                         const EarlyAnswers& answers);

}  // namespace skyline::evaluate

#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include "evaluate/process/trainer_variables.hpp"
#include "evaluate/process/trial_folders.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// Returns the values of the placeholders that every trial has.
Variables trial_placeholders(const EvaluatorServices& services, const trial::Trial& trial,
                             const AttemptFolder& folder, const trial::TrialFolder& files);
/// Writes the file `{parameters}`: what a program has to know about its trial. @throws FaultError
void write_parameters(const EvaluatorServices& services, const trial::Trial& trial,
                      const AttemptFolder& folder, const trial::TrialFolder& files);

/// Returns the variables of a program that runs for a trial.
/// @param variables  those that it gets from the search
/// @param temporary  its TMPDIR
/// @param devices    GPUs of the trial; empty if it has none
Variables program_variables(Variables variables, const std::filesystem::path& temporary, int threads,
                            const std::vector<std::string>& devices);

}  // namespace skyline::evaluate

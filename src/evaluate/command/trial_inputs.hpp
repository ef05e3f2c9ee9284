#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include "evaluate/process/error_words.hpp"
#include "evaluate/process/trainer_variables.hpp"
#include "store/run_folder/attempt_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace skyline::evaluate {

/// Returns the values of the placeholders that every trial has.
Variables trial_placeholders(const EvaluatorServices& services, const trial::Trial& trial,
                             const store::AttemptFolder& folder, const trial::TrialFolder& files);
/// Writes the file `{parameters}`: what a program has to know about its trial. @throws FaultError
/// @param metrics  names of those that it reports
void write_parameters(const EvaluatorServices& services, const trial::Trial& trial,
                      const store::AttemptFolder& folder, const trial::TrialFolder& files,
                      const std::vector<std::string>& metrics);

/// Returns the texts in the words of a trial's program that differ from host to host or from try to try: the
/// values of placeholders that are paths, folders, this host, and the program's number.
/// @param placeholders  those of the trial
OwnNames own_names(const std::filesystem::path& run, const Variables& placeholders,
                   const store::AttemptFolder& folder, pid_t process);

/// Returns the variables of a program that runs for a trial.
/// @param variables  those that it gets from the search
/// @param temporary  its TMPDIR
/// @param devices    GPUs of the trial; empty if it has none
Variables program_variables(Variables variables, const std::filesystem::path& temporary, int threads,
                            const std::vector<std::string>& devices);

}  // namespace skyline::evaluate

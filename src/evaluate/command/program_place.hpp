#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include "evaluate/command/storage_fault.hpp"
#include "evaluate/process/error_words.hpp"
#include "evaluate/process/report_reader.hpp"
#include "evaluate/process/trainer_variables.hpp"
#include "evaluate/process/user_program.hpp"
#include "store/run_folder/attempt_folder.hpp"

#include <cstdint>
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

/// The surroundings of the programs of a trial: of its trainer, and of those that measure it.
struct ProgramPlace {
  std::filesystem::path run;  // folder of the run
  Variables placeholders;
  Variables variables;
  std::vector<int> processors;  // empty: those of the thread that starts them
  const store::AttemptFolder& folder;
  WrittenPlaces written;
  store::TrialLogs& logs;
  std::int64_t step = 0;  // last one of the trial's learning curve
};

/// Returns the failure of a trial whose program ended like this: that of the host's storage if it is the
/// reason, else with the words of the log.
trial::Failure failure_of(const ProcessEnd& end, const ProgramPlace& place, const std::filesystem::path& log);

/// Returns what a program has reported, or why there is nothing. Warns of what is left out.
/// @param whose  e.g. "trial 3"
trial::Outcome result_of(const ProcessEnd& end, ReportReader& reader, const ProgramPlace& place,
                         const std::filesystem::path& log, const std::string& whose, LeftOut& left_out);

/// Keeps a log as that of a trial that has failed or not, and warns with its end if the program is to blame.
/// Returns its path.
/// @param failure  nullptr if there is none
/// @param whose    beginning of the warning; empty for none
std::filesystem::path keep_log(const std::filesystem::path& log, const trial::Failure* failure,
                               store::TrialLogs& logs, const std::string& whose);

}  // namespace skyline::evaluate

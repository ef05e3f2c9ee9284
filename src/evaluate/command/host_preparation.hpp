#pragma once

#include "evaluate/command/trial_attempt.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// Prepares the folders of a run in which programs of the user work: removes what earlier jobs have left, and
/// checks that programs start in the folder in which the run was started, since their paths may count from
/// it. Only rank 0 calls it. @throws UserError
void prepare_program_folders(const std::filesystem::path& run);
/// Checks that the folders of the run in which programs work are still those of the start.
/// @param log  a log of the trial @throws UserError if not
void check_program_folders(const std::filesystem::path& run, const std::filesystem::path& log);
/// Returns how many logs of successful trials each of so many ranks keeps.
std::size_t most_logs(int ranks);

/// Runs the section's `prepare` on this host to its end, if there is one. Returns early, with nothing left
/// running, if the job must stop.
/// @param devices  GPUs of this rank
/// @throws UserError if the program fails, or takes longer than `prepare_timeout`; its log, and what it has
///         written to its TMPDIR, then stay and are named
void prepare_host(const TrainerHost& host, const std::vector<std::string>& devices);

/// Has the Python that trials are forked from import its function, if the section has one. Returns early if
/// the job must stop.
/// @throws UserError if it cannot be imported, or leaves what a fork would lose
void start_server(TrainerHost& host, const std::vector<std::string>& devices, int rank);

}  // namespace skyline::evaluate

#pragma once

#include "app/config/run_config.hpp"
#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "store/publish/folder_check.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace skyline::app {

/// Collective: the difference between the hosts' data in one line, the same on every rank; nothing if all are
/// equal. The first rank of each node reads the seal only. @param file  data set; empty: none is used
std::optional<std::string> data_difference(comm::Environment& environment, const std::string& file);

/// Computes the checksums of a data set on the first rank of each node, unless it is staged (copies are
/// checked anyway). Local.
/// @param stop_requested  of this rank's job: the check is left out or ended then
/// @return the problem; empty: none
std::string verify_data(const comm::Environment& environment, const RunConfig& config,
                        const std::function<bool()>& stop_requested);

/// Collective: with `data.stage` the first rank of each node makes or finds the node's copy of the data set,
/// and every rank reads the copy from now on.
/// @param config          its data set is replaced; not if a rank's job is to stop, which ends all copying
/// @param stop_requested  of this rank's job
/// @return the problem; empty: none
std::string stage_data(comm::Environment& environment, RunConfig& config,
                       const std::function<bool()>& stop_requested);

/// Tries this node's folder for copies; nothing if the configuration has none.
std::optional<Finding> check_stage(const RunConfig& config);

/// Judges the trial of a folder for copies. Local. @param stage  the user's folder
/// @param needed_bytes  for a copy; nothing: it is there
Finding judge_stage(const std::filesystem::path& stage, const store::FolderCheck& check,
                    std::optional<std::uint64_t> needed_bytes);

}  // namespace skyline::app

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

/// Returns the difference between the hosts' data in one line, the same on every rank; nullopt if all are
/// equal. The first rank of each node opens its data set, unless it is open. Collective.
/// @param config  nullptr if this rank has none
std::optional<std::string> data_difference(comm::Environment& environment, RunConfig* config);

/// Checks the contents of the data set on the first rank of each node, unless it is staged, since copies are
/// checked anyway. Returns the problem, or an empty text. Local.
/// @param stop_requested  returns whether this rank's job must stop; the check is then left out or ended
std::string verify_data(const comm::Environment& environment, const RunConfig& config,
                        const std::function<bool()>& stop_requested);

/// With `data.stage` the first rank of each node makes or finds the node's copy of the data set, and every
/// rank reads the copy from now on. Returns the problem, or an empty text. Collective.
/// @param config          its data set is replaced, unless a rank's job must stop, which ends all copying
/// @param stop_requested  returns whether this rank's job must stop
std::string stage_data(comm::Environment& environment, RunConfig& config,
                       const std::function<bool()>& stop_requested);

/// Tries this node's folder for copies; nullopt if the configuration has none.
std::optional<Finding> check_stage(const RunConfig& config);

/// Judges the result of trying a folder for copies. Local.
/// @param stage         the user's folder
/// @param needed_bytes  bytes for a copy; no value if the copy exists
Finding judge_stage(const std::filesystem::path& stage, const store::FolderCheck& check,
                    std::optional<std::uint64_t> needed_bytes);

}  // namespace skyline::app

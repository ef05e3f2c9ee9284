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

/// Collective: what the hosts' data differ in, in one line, the same on every rank; nothing if all have the
/// same. The first rank of each node looks, at the seal alone. @param file  data set; empty: none is used
std::optional<std::string> data_difference(comm::Environment& environment, const std::string& file);

/// The first rank of each node computes the checksums of a data set that is not staged, whose copies are
/// checked. Local.
/// @param stop_requested  of this rank's job: the check is left out or ended then
/// @return                what is wrong, empty: nothing
std::string verify_data(const comm::Environment& environment, const RunConfig& config,
                        const std::function<bool()>& stop_requested);

/// Collective: where `data.stage` asks for it, the first rank of each node makes or finds the node's copy of
/// the data set, and every rank reads that one from now on.
/// @param config          its data set is replaced; not if a rank's job is to stop, which ends all copying
/// @param stop_requested  of this rank's job
/// @return                what went wrong, empty: nothing
std::string stage_data(comm::Environment& environment, RunConfig& config,
                       const std::function<bool()>& stop_requested);

/// Tries this node's folder for copies; nothing if the configuration has none.
std::optional<Finding> check_stage(const RunConfig& config);

/// What a trial of a folder for copies has shown. Local. @param stage  the user's folder
/// @param needed_bytes  for a copy; nothing: it is there
Finding judge_stage(const std::filesystem::path& stage, const store::FolderCheck& check,
                    std::optional<std::uint64_t> needed_bytes);

}  // namespace skyline::app

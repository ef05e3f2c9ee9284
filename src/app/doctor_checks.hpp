#pragma once

#include "skyline/comm/environment.hpp"
#include "skyline/store/folder_check.hpp"

#include "app/doctor_findings.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace skyline::app {

/// Launcher, library, and whether threads may communicate.
Finding check_mpi(comm::Environment& environment);
/// The cores of a rank against the threads that it is to run. @param threads  of a slot
Finding check_cores(const comm::NodePlace& place, int threads);
/// Memory of the node for each of its ranks.
Finding check_memory(const comm::NodePlace& place);
/// Time that the batch system gives; nothing without one.
std::optional<Finding> check_time_left(const comm::Launch& launch, double unix_now_s);
/// What a trial of the run folder has shown.
std::vector<Finding> judge_folder(const std::filesystem::path& folder, const store::FolderCheck& check);

}  // namespace skyline::app

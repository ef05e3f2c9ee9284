#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "store/publish/folder_check.hpp"

#include <filesystem>
#include <vector>

namespace skyline::app {

/// Judges the result of trying the run folder.
std::vector<Finding> judge_folder(const std::filesystem::path& folder, const store::FolderCheck& check);

/// Collective: tries the folder on each node, and checks that all nodes see the same one.
void check_folder(comm::Environment& environment, const std::filesystem::path& folder,
                  std::vector<Finding>& findings);

}  // namespace skyline::app

#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"
#include "train/loading/device_choice.hpp"

#include <filesystem>
#include <vector>

namespace skyline::app {

/// Collective: which GPU each rank would train on, or why none; what NCCL would be told.
/// @param needs  of the search: if it uses no device, what hinders the use of one is no problem
/// @param root   of the file system; "/" but for tests
/// @return       what this rank sees, for other checks
machine::RankView check_devices(comm::Environment& environment, const evaluate::EvaluatorNeeds& needs,
                                const train::AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings);

}  // namespace skyline::app

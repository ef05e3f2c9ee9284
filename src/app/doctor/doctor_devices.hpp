#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "app/job/device_choice.hpp"
#include "comm/environment.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace skyline::app {

/// Collective: which GPU each rank would train on, or why none; what NCCL would be told.
/// @param options  nothing: those of a configuration that says nothing of devices
/// @param needed   whether the search would train: else what hinders that is no problem
/// @param root     of the file system; "/" but for tests
/// @return         what this rank sees, for other checks
machine::RankView check_devices(comm::Environment& environment,
                                const std::optional<train::TrainingOptions>& options, bool needed,
                                const AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings);

}  // namespace skyline::app

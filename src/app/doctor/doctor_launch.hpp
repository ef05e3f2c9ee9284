#pragma once

#include "app/doctor/doctor_findings.hpp"
#include "comm/environment.hpp"

#include <optional>

namespace skyline::app {

/// Judges launcher and library, and whether threads may communicate.
Finding check_mpi(comm::Environment& environment);
/// Judges the time that the batch system leaves; nothing without one.
std::optional<Finding> check_time_left(const comm::Launch& launch, double unix_now_s);

}  // namespace skyline::app

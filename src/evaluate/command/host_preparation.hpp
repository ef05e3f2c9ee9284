#pragma once

#include "evaluate/command/trial_attempt.hpp"

#include <string>
#include <vector>

namespace skyline::evaluate {

/// Runs the section's `prepare` on this host to its end, if there is one. Returns early, with nothing left
/// running, if the job must stop.
/// @param devices  GPUs of this rank
/// @throws UserError if the program fails, or takes longer than `prepare_timeout`; its log, and what it has
///         written to its TMPDIR, then stay and are named
void prepare_host(const TrainerHost& host, const std::vector<std::string>& devices);

}  // namespace skyline::evaluate

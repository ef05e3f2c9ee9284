#pragma once

#include "run/account.hpp"

#include <string>

namespace skyline::report {

/// Account of time: a row per slot, and the sum: trials, set-up, training, validation, latency, idle,
/// utilization. With more than 16 slots, a row per node; with several jobs, a row per job.
std::string account_table(const run::RunAccount& account);

}  // namespace skyline::report

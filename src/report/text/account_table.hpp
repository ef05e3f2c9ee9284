#pragma once

#include "run/account.hpp"

#include <cstddef>
#include <limits>
#include <string>

namespace skyline::report {

/// Account of time: a row per slot, and the sum: trials, set-up, training, validation, latency, idle,
/// utilization. With more than 16 slots, a row per node; with several jobs, a row per job.
/// @param columns  width of the text, for which columns that say little are left out
std::string account_table(const run::RunAccount& account,
                          std::size_t columns = std::numeric_limits<std::size_t>::max());

}  // namespace skyline::report

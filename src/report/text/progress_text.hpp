#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "report/text/run_status.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace skyline::report {

/// `search 37/74 trials · 12 in flight · 2 failed · front 9 · best validation_accuracy 0.9812 · 3:05 elapsed
/// · ETA 4:10`; zero or unknown parts are left out.
std::string progress_line(const RunStatus& status);

/// Cuts the text to `columns` characters (UTF-8 code points).
std::string cut_to_columns(std::string_view text, std::size_t columns);

/// `trial 17 committed: depth=3 width=16 validation_accuracy=0.9712 flops=1.2M front=yes rank 1 slot 0 4.31
/// s`; for a failed trial its kind and reason instead of values.
/// @param host  that trained it, shown as `rank 1 node07 slot 0`; empty: the run has one node
std::string commit_line(const trial::CommittedTrial& committed, bool on_front,
                        const objective::ObjectiveSet& objectives, const space::SearchSpace& space,
                        const std::vector<std::string>& metrics, const std::string& host);

}  // namespace skyline::report

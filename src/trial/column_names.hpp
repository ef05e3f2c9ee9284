#pragma once

#include <string_view>

namespace skyline::trial {

/// Returns whether tables of results (run.h5, search_state.csv) or points of learning curves have a column of
/// this name for every run, so that it is no name for a metric.
bool is_column_name(std::string_view name);

}  // namespace skyline::trial

#pragma once

#include "skyline/core/option_kind.hpp"
#include "skyline/trial/metric.hpp"

namespace skyline::trial {

// How configurations describe a metric.

/// Refuses a name that no metric can have: one that cannot be printed, or that reports and results have for
/// something else. @param name  the key or the value that names the metric. @throws UserError
void check_metric_name(const ConfigNode& name);
/// Reads `[low, high]`; an unbounded range is not written. @throws UserError for a range that is upside down
OptionKind<MetricRange> metric_range();
/// Reads `higher` or `lower`.
OptionKind<Better> better_direction();
/// Reads `every` or `full`.
OptionKind<Metric::When> when_measured();

}  // namespace skyline::trial

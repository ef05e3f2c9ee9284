#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/trial/metric.hpp"

#include <span>
#include <vector>

namespace skyline::run {

/// Returns the baselines as the value of `data.yardsticks` in a run's config.yaml: a map from metrics to
/// `samples`, `scored` and `constant`; null if there are none.
ConfigNode baselines_node(std::span<const trial::Baseline> baselines);
/// Returns the baselines of a run; none if its configuration states none. @throws UserError
std::vector<trial::Baseline> baselines_of(const ConfigNode& config);

}  // namespace skyline::run

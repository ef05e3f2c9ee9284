#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/trial/metric.hpp"

#include <span>
#include <vector>

namespace skyline::run {

/// Returns the yardsticks as the value of `data.yardsticks` in a run's config.yaml: a map from metrics to
/// `samples`, `scored` and `constant`; null if there are none.
ConfigNode yardsticks_node(std::span<const trial::Yardstick> yardsticks);
/// Returns the yardsticks of a run; none if its configuration states none. @throws UserError
std::vector<trial::Yardstick> yardsticks_of(const ConfigNode& config);

}  // namespace skyline::run

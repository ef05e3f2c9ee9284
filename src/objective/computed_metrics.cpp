#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include <array>
#include <cstdint>

namespace skyline::objective {

namespace {

struct ComputedMetric {
  std::string_view name;
  std::int64_t space::Cost::*cost;
};

constexpr std::array kComputedMetrics{
    ComputedMetric{"parameters", &space::Cost::parameters}, ComputedMetric{"flops", &space::Cost::flops},
    ComputedMetric{"macs", &space::Cost::macs},
    ComputedMetric{"peak_activation_bytes", &space::Cost::peak_activation_bytes}};

}  // namespace

std::vector<std::string> computed_metric_names() {
  std::vector<std::string> names;
  names.reserve(kComputedMetrics.size());
  for (const ComputedMetric& metric : kComputedMetrics) names.emplace_back(metric.name);
  return names;
}

double computed_metric(const space::Network& network, std::string_view metric) {
  for (const ComputedMetric& known : kComputedMetrics) {
    if (known.name == metric) return static_cast<double>(network.cost.*known.cost);
  }
  throw InternalError("`" + std::string(metric) + "` is not computed from the network");
}

}  // namespace skyline::objective

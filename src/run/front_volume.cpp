#include "run/front_volume.hpp"

#include "search/pareto/pareto.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::run {
namespace {

constexpr double kMargin = 0.1;  // of the worst value's size, so that the worst points count as well

bool is_minimized(const objective::Objective& objective) {
  return objective.sense == objective::Sense::kMinimize;
}

double reference_of(const objective::Objective& objective, double worst) {
  const double margin = kMargin * std::abs(worst);
  if (is_minimized(objective)) return worst + margin;
  return worst >= 0 ? 0 : worst - margin;
}

}  // namespace

FrontVolume volume_of(std::span<const objective::Objective> objectives, const FrontPoints& points) {
  FrontVolume result;
  if (points.worst.empty()) return result;
  std::vector<double> minimized_reference;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double reference = reference_of(objectives[i], points.worst[i]);
    result.reference.push_back(reference);
    minimized_reference.push_back(is_minimized(objectives[i]) ? reference : -reference);
  }
  result.volume = search::hypervolume(points.minimized, minimized_reference);
  return result;
}

void keep_worst(std::span<const objective::Objective> objectives, std::span<const double> values,
                std::vector<double>& worst) {
  if (worst.empty()) worst.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    worst[i] = is_minimized(objectives[i]) ? std::max(worst[i], values[i]) : std::min(worst[i], values[i]);
  }
}

}  // namespace skyline::run

#include "report/files/trial_results.hpp"
#include "report/report.hpp"
#include "report/text/reference_point.hpp"
#include "search/pareto/pareto.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::report {
namespace {

constexpr double kMargin = 0.1;  // of the worst value's size, so that the worst points count as well

double reference_of(objective::Sense sense, double worst) {
  const double margin = kMargin * std::abs(worst);
  if (sense == objective::Sense::kMinimize) return worst + margin;
  return worst >= 0 ? 0 : worst - margin;
}

bool is_minimized(const objective::Objective& objective) {
  return objective.sense == objective::Sense::kMinimize;
}

/// Worst value of each objective over the successful search trials, in the user's senses; empty if none.
std::vector<double> worst_values(const ReportInputs& inputs) {
  std::vector<double> worst;
  for (const auto& committed : inputs.committed) {
    if (committed.trial.is_final()) continue;
    if (const auto values = inputs.objectives.values(committed)) {
      keep_worst(inputs.objectives.objectives(), *values, worst);
    }
  }
  return worst;
}

}  // namespace

void keep_worst(std::span<const objective::Objective> objectives, std::span<const double> values,
                std::vector<double>& worst) {
  if (worst.empty()) worst.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    worst[i] = is_minimized(objectives[i]) ? std::max(worst[i], values[i]) : std::min(worst[i], values[i]);
  }
}

std::vector<double> volume_reference(std::span<const objective::Objective> objectives,
                                     std::span<const double> worst) {
  std::vector<double> reference;
  for (std::size_t i = 0; i < worst.size(); ++i) {
    reference.push_back(reference_of(objectives[i].sense, worst[i]));
  }
  return reference;
}

double dominated_volume(std::span<const objective::Objective> objectives, std::span<const double> minimized,
                        std::span<const double> reference) {
  std::vector<double> minimized_reference;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    minimized_reference.push_back(is_minimized(objectives[i]) ? reference[i] : -reference[i]);
  }
  return search::hypervolume(minimized, minimized_reference);
}

FrontVolume front_volume(const ReportInputs& inputs) {
  const std::vector<double> worst = worst_values(inputs);
  if (worst.empty()) return {};

  FrontVolume result;
  result.reference = volume_reference(inputs.objectives.objectives(), worst);
  std::vector<double> points;
  for (const std::size_t index : front_order(inputs)) {
    const auto values = inputs.objectives.minimized(inputs.committed[index]);
    points.insert(points.end(), values->begin(), values->end());
  }
  result.volume = dominated_volume(inputs.objectives.objectives(), points, result.reference);
  return result;
}

}  // namespace skyline::report

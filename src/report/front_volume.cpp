#include "skyline/report/report.hpp"
#include "skyline/search/pareto.hpp"

#include "report/trial_results.hpp"

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

/// Worst value of each objective over the successful search trials, in the user's senses; empty if none.
std::vector<double> worst_values(const ReportInputs& inputs) {
  const auto& objectives = inputs.objectives.objectives();
  std::vector<double> worst;
  for (const auto& committed : inputs.committed) {
    if (committed.trial.phase != objective::Phase::kSearch) continue;
    const auto values = inputs.objectives.values(committed);
    if (!values) continue;
    if (worst.empty()) worst = *values;
    for (std::size_t i = 0; i < objectives.size(); ++i) {
      const bool minimized = objectives[i].sense == objective::Sense::kMinimize;
      worst[i] = minimized ? std::max(worst[i], (*values)[i]) : std::min(worst[i], (*values)[i]);
    }
  }
  return worst;
}

}  // namespace

FrontVolume front_volume(const ReportInputs& inputs) {
  const auto& objectives = inputs.objectives.objectives();
  const std::vector<double> worst = worst_values(inputs);
  if (worst.empty()) return {};

  FrontVolume result;
  std::vector<double> minimized_reference;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    result.reference.push_back(reference_of(objectives[i].sense, worst[i]));
    const bool minimized = objectives[i].sense == objective::Sense::kMinimize;
    minimized_reference.push_back(minimized ? result.reference[i] : -result.reference[i]);
  }
  std::vector<double> points;
  for (const std::size_t index : front_order(inputs)) {
    const auto values = inputs.objectives.minimized(inputs.committed[index]);
    points.insert(points.end(), values->begin(), values->end());
  }
  result.volume = search::hypervolume(points, minimized_reference);
  return result;
}

}  // namespace skyline::report

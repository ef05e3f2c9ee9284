#include "report/compare/volume_curve.hpp"

#include "skyline/search/pareto.hpp"

#include <algorithm>

namespace skyline::report {
namespace {

constexpr std::size_t kMostMeasured =
    300;  // limit for more than two objectives, where a volume takes milliseconds

}  // namespace

std::vector<double> volume_curve(const run::RunState& state, std::size_t also) {
  if (!state.objectives().has_volume()) return {};
  return volume_curve_between(state, state.objectives().objectives(), also);
}

std::vector<double> volume_curve_between(const run::RunState& state,
                                         const std::vector<objective::Objective>& objectives,
                                         std::size_t also) {
  const std::size_t columns = objectives.size();
  const std::size_t trials = state.committed(trial::Phase::kSearch);
  const std::size_t every = columns <= 2 ? 1 : std::max<std::size_t>(1, trials / kMostMeasured);
  search::RepeatedFront front(columns, state.repeats());
  bool grew = false;
  std::vector<double> curve;
  for (const run::SharedTrial& committed : state.trials()) {
    if (committed->trial.is_final()) continue;
    if (front.tell(state.objectives(), committed).front_changed) grew = true;
    double volume = curve.empty() ? 0 : curve.back();
    const std::size_t done = curve.size() + 1;
    if (grew && (done % every == 0 || done == trials || done == also)) {
      grew = false;
      const double now = run::volume_between(objectives, run::points_of(front.front()));
      // With repeats a volume may shrink, because a mean may be worse than the lucky first value.
      volume = state.repeats() > 1 ? now : std::max(volume, now);
    }
    curve.push_back(volume);
  }
  return curve;
}

}  // namespace skyline::report

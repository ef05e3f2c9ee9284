#include "report/files/seed_groups.hpp"

#include "report/files/trial_results.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace skyline::report {
namespace {

bool has_several_seeds(const SeedGroup& group) {
  std::set<std::uint64_t> seeds;
  for (const run::SharedTrial& training : group) seeds.insert(training->trial.seed);
  return seeds.size() > 1;
}

}  // namespace

std::vector<SeedGroup> seed_groups(const ReportInputs& inputs) {
  const run::RunState& state = inputs.state;
  if (!state.final_budget()) return {};
  std::map<space::ArchId, std::size_t> places;
  std::vector<SeedGroup> groups;
  for (const run::SharedTrial& committed : state.trials()) {
    const trial::Trial& trial = committed->trial;
    if (!trial.is_final() || trial.budget() != state.final_budget()) continue;
    if (trial.proposal.final_repeat > 0) continue;
    const auto [place, is_new] = places.try_emplace(committed->trial.architecture().id, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(committed);
  }
  std::erase_if(groups, [](const SeedGroup& group) { return !has_several_seeds(group); });
  const objective::Objective& first = state.objectives().objectives().front();
  const double sign = first.sense == objective::Sense::kMinimize ? 1 : -1;
  std::ranges::stable_sort(groups, {}, [&](const SeedGroup& group) {
    const auto spread = spread_of(group, first.metric, inputs.metrics);
    return spread ? sign * spread->mean : INFINITY;
  });
  return groups;
}

std::optional<Spread> spread_of(const SeedGroup& group, const std::string& metric,
                                const std::vector<trial::Metric>& metrics) {
  Spread spread;
  double squares = 0;  // sum of squared distances from the mean
  for (const run::SharedTrial& training : group) {
    const auto value = metric_value(*training, metric, metrics);
    if (!value || std::isnan(*value)) continue;
    const double from_mean = *value - spread.mean;
    spread.mean += from_mean / static_cast<double>(++spread.count);
    squares += from_mean * (*value - spread.mean);
  }
  if (spread.count == 0) return std::nullopt;
  if (spread.count > 1) spread.deviation = std::sqrt(squares / static_cast<double>(spread.count - 1));
  return spread;
}

}  // namespace skyline::report

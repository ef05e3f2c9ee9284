// The two ends between which an objective's part of a hypervolume is measured.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include "objective/objective_ends.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace skyline::objective {
namespace {

constexpr std::int64_t kMostCounted = 500;   // spaces of so many genotypes are examined completely
constexpr std::int64_t kSampled = 250;       // number of genotypes drawn from a larger space
constexpr std::size_t kMostLayers = 50'000;  // layers of all these networks

bool is_minimized(const Objective& objective) {
  return objective.sense == Sense::kMinimize;
}

bool is_worse(const Objective& objective, double left, double right) {
  return is_minimized(objective) ? left > right : left < right;
}

/// Returns the range in which values are compared: all that the metric can have up to its ideal, within the
/// constraint if there is one.
trial::MetricRange compared_range(const trial::Metric& metric, const std::vector<Constraint>& constraints) {
  trial::MetricRange range = metric.range;
  if (metric.ideal) (metric.better == trial::Better::kLower ? range.low : range.high) = *metric.ideal;
  const auto constraint = std::ranges::find(constraints, metric.name, &Constraint::metric);
  if (constraint == constraints.end()) return range;
  return {std::max(range.low, constraint->low), std::min(range.high, constraint->high)};
}

/// Returns the largest costs of the space, or of a sample, by computed objective; empty if no network can be
/// built.
std::map<std::string, double> largest_costs(const ObjectiveSet& set, const space::SearchSpace& space) {
  std::map<std::string, double> largest;
  RandomStream random(derive_seed(0, "objective.reference_point"));
  const std::int64_t genotypes = space.genotype_count();
  const bool all = genotypes <= kMostCounted;
  std::size_t layers = 0;
  for (std::int64_t i = 0; i < (all ? genotypes : kSampled) && layers < kMostLayers; ++i) {
    try {
      const space::Architecture architecture = space.build(all ? space.genotype_at(i) : space.sample(random));
      layers += architecture.network().layers.size();
      for (const Objective& objective : set.objectives()) {
        if (!objective.computed) continue;
        double& value = largest[objective.metric];
        value = std::max(value, computed_metric(architecture.cost, objective.metric));
      }
    } catch (const UserError&) {  // a genotype without a network
    }
  }
  return largest;
}

}  // namespace

void read_ends(const ConfigNode& item, const std::vector<Constraint>& constraints,
               const trial::Metric& metric, Objective& objective) {
  const trial::MetricRange range = compared_range(metric, constraints);
  const double best = is_minimized(objective) ? range.low : range.high;
  const double worst = is_minimized(objective) ? range.high : range.low;
  // An end of a computed metric that may be the largest cost needs the space.
  if (std::isfinite(best) && !(objective.computed && !is_minimized(objective))) objective.ideal = best;
  if (objective.reference) {
    if (!std::isfinite(*objective.reference) || !is_worse(objective, *objective.reference, best)) {
      item.at("reference")
          .fail_expected(std::string("a number ") + (is_minimized(objective) ? "above" : "below") +
                         " the best value, " + number_text(best));
    }
  } else if (std::isfinite(worst) && is_worse(objective, worst, best) &&
             !(objective.computed && is_minimized(objective))) {
    objective.reference = worst;
  }
}

void ObjectiveSet::complete_references(const space::SearchSpace& space) {
  const auto is_complete = [](const Objective& one) { return !one.computed || (one.reference && one.ideal); };
  if (std::ranges::all_of(objectives_, is_complete)) return;
  const std::map<std::string, double> largest = largest_costs(*this, space);
  for (Objective& objective : objectives_) {
    const auto found = largest.find(objective.metric);
    if (is_complete(objective) || found == largest.end()) continue;
    const trial::MetricRange range =
        compared_range(*trial::find_metric(computed_metrics(), objective.metric), constraints_);
    double most = std::min(found->second, range.high);
    if (most <= range.low) most = range.high;  // the sample contains no network that meets the constraint
    if (!std::isfinite(most) || most <= range.low) continue;
    (is_minimized(objective) ? objective.reference : objective.ideal) = most;
  }
}

bool ObjectiveSet::has_volume() const {
  return std::ranges::all_of(objectives_, [](const Objective& objective) {
    return objective.reference && objective.ideal &&
           is_worse(objective, *objective.reference, *objective.ideal);
  });
}

ConfigNode ObjectiveSet::to_config() const {
  std::vector<ConfigNode> items;
  for (const Objective& objective : objectives_) {
    const ConfigNode metric = ConfigNode::make_scalar(objective.metric, {});
    std::vector<ConfigNode::Entry> entries{{is_minimized(objective) ? "minimize" : "maximize", metric, {}}};
    if (objective.reference) {
      entries.push_back({"reference", ConfigNode::make_scalar(number_text(*objective.reference), {}), {}});
    }
    items.push_back(ConfigNode::make_map(std::move(entries), {}));
  }
  return ConfigNode::make_list(std::move(items), {});
}

}  // namespace skyline::objective

// The two ends between which an objective's part of a hypervolume is measured.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include "objective/objective_ends.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace skyline::objective {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 4> kShares{"accuracy", "top_k", "macro_f1", "auc"};
constexpr std::array<std::string_view, 5> kNotNegative{"loss", "mse", "mae", "latency_ms", "steps"};

constexpr std::int64_t kMostCounted = 500;   // genotypes of a space that is gone through wholly
constexpr std::int64_t kSampled = 250;       // genotypes of a larger one
constexpr std::size_t kMostLayers = 50'000;  // of all their networks

bool is_minimized(const Objective& objective) {
  return objective.sense == Sense::kMinimize;
}

bool is_worse(const Objective& objective, double left, double right) {
  return is_minimized(objective) ? left > right : left < right;
}

/// The values that are within the metric's range and the constraint, if there is one.
MetricRange bounded_range(const Objective& objective, const std::vector<Constraint>& constraints) {
  MetricRange range = metric_range(objective.metric);
  const auto constraint = std::ranges::find(constraints, objective.metric, &Constraint::metric);
  if (constraint == constraints.end()) return range;
  return {std::max(range.low, constraint->low), std::min(range.high, constraint->high)};
}

/// The largest costs of the space, or of a sample, by computed objective; empty if no network can be built.
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

MetricRange metric_range(std::string_view metric) {
  const auto computed = computed_metric_names();
  if (std::ranges::find(computed, metric) != computed.end()) return {0, kInfinity};
  for (const std::string_view set : {"validation_", "test_", "train_"}) {
    if (metric.starts_with(set)) metric.remove_prefix(set.size());
  }
  if (std::ranges::find(kShares, metric) != kShares.end()) return {0, 1};
  if (std::ranges::find(kNotNegative, metric) != kNotNegative.end()) return {0, kInfinity};
  return {-kInfinity, kInfinity};
}

void read_ends(const ConfigNode& item, const std::vector<Constraint>& constraints, Objective& objective) {
  const MetricRange range = bounded_range(objective, constraints);
  const double best = is_minimized(objective) ? range.low : range.high;
  const double worst = is_minimized(objective) ? range.high : range.low;
  // The end of a computed metric that is at most the largest cost needs the space.
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
    const MetricRange range = bounded_range(objective, constraints_);
    double most = std::min(found->second, range.high);
    if (most <= range.low) most = range.high;  // the sample has missed what the constraint asks for
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

// The two ends between which an objective's part of a hypervolume is measured.
#include "skyline/core/random.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include "core/config/byte_size.hpp"
#include "objective/objective_ends.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace skyline::objective {
namespace {

constexpr std::int64_t kMostCounted = 500;   // spaces of so many genotypes are examined completely
constexpr std::int64_t kSampled = 250;       // number of genotypes drawn from a larger space
constexpr std::size_t kMostLayers = 50'000;  // limit for the layers of all these networks together
// For each objective: passes over the parameters, values of each that are tried, and changes in all.
constexpr int kPasses = 2;
constexpr std::size_t kMostValues = 5;
constexpr std::size_t kMostChanges = 500;
constexpr double kBelowSmallest = 10;  // quotient of the smallest cost and the end below it

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

struct CostRange {
  double least = 0;                                           // smallest cost of the sample
  double smallest = std::numeric_limits<double>::infinity();  // smallest cost above 0
  double largest = 0;
  space::Architecture largest_one;
};
using CostRanges = std::map<std::string, CostRange>;  // key: computed objective

/// Looks for the range of the costs of a space: in all of a small one; else in a sample, and then for its
/// largest networks, which are rare there. Most costs grow with each parameter, in one direction.
class CostSurvey {
 public:
  CostSurvey(const ObjectiveSet& set, const space::SearchSpace& space) : set_(set), space_(space) {}

  /// Returns what was found; empty if no network can be built.
  CostRanges run() {
    const std::int64_t genotypes = space_.genotype_count();
    const bool all = genotypes <= kMostCounted;
    for (std::int64_t i = 0; i < (all ? genotypes : kSampled) && layers_ < kMostLayers; ++i)
      add_costs(all ? space_.genotype_at(i) : space_.sample(random_));
    if (all) return std::move(ranges_);
    is_sample_ = false;
    for (const auto& [metric, range] : ranges_) {
      layers_ = 0;
      changes_ = 0;
      add_costs_at_end(range, false);
      add_costs_at_end(range, true);
      for (int pass = 0; pass < kPasses; ++pass) climb(range);
    }
    return std::move(ranges_);
  }

 private:
  /// Gives all parameters their first or their last value, as far as `where` allows it.
  void add_costs_at_end(const CostRange& range, bool is_last) {
    space::Genotype genotype = range.largest_one.genotype;
    for (std::size_t p = 0; p < genotype.choices.size(); ++p) {
      const std::size_t last = space_.parameters()[p].values.size() - 1;
      if (auto changed = change(genotype, p, is_last ? last : 0)) genotype = *std::move(changed);
    }
    add_costs(genotype);
  }

  /// Changes one parameter of the largest network after the other.
  void climb(const CostRange& range) {
    for (std::size_t p = 0; p < space_.parameters().size(); ++p) {
      const std::size_t values = space_.parameters()[p].values.size();
      const std::size_t tried = std::min(values, kMostValues);
      for (std::size_t i = 0; i < tried && values > 1; ++i) {
        const space::Architecture& from = range.largest_one;
        if (!from.used[p]) continue;
        const auto changed = change(from.genotype, p, i * (values - 1) / (tried - 1));
        if (changed) add_costs(*changed);
      }
    }
  }

  /// Returns the genotype with this choice, or nullopt if it has it, or after too many changes.
  std::optional<space::Genotype> change(const space::Genotype& genotype, std::size_t parameter,
                                        std::size_t choice) {
    if (choice == genotype.choices[parameter] || changes_ == kMostChanges) return std::nullopt;
    ++changes_;
    return space_.with_choice(genotype, parameter, static_cast<std::uint32_t>(choice), random_);
  }

  void add_costs(const space::Genotype& genotype) {
    if (layers_ >= kMostLayers) return;
    const space::BuildAttempt attempt = space_.try_build(genotype);
    if (!attempt.architecture) return;
    layers_ += attempt.architecture->layer_count();
    for (const Objective& objective : set_.objectives()) {
      if (!objective.computed) continue;
      const std::optional<double> known = find_computed(*attempt.architecture, objective.metric);
      if (!known) continue;  // a program counts it
      const double cost = *known;
      const auto [place, is_first] = ranges_.try_emplace(objective.metric);
      CostRange& range = place->second;
      if (is_sample_) range.least = is_first ? cost : std::min(range.least, cost);
      if (cost > 0 && is_sample_) range.smallest = std::min(range.smallest, cost);
      if (cost <= range.largest && !is_first) continue;
      range.largest = cost;
      range.largest_one = attempt.architecture->unbuilt();
    }
  }

  const ObjectiveSet& set_;
  const space::SearchSpace& space_;
  RandomStream random_{derive_seed(0, "objective.reference_point")};
  CostRanges ranges_;
  bool is_sample_ = true;    // the smallest networks of a space are of no use, so those of the sample count
  std::size_t layers_ = 0;   // layers of the sample's networks, and then of those of each climb
  std::size_t changes_ = 0;  // changes in the present climb
};

/// The ends of an objective by their values: the smaller one, `low`, is the ideal of a minimized objective.
std::optional<double>& low_end(Objective& objective) {
  return is_minimized(objective) ? objective.ideal : objective.reference;
}
std::optional<double>& high_end(Objective& objective) {
  return is_minimized(objective) ? objective.reference : objective.ideal;
}

void read_stated_ends(const ConfigNode& item, const trial::Metric& metric, double best,
                      Objective& objective) {
  if (const ConfigNode* ideal = item.find(kIdeal)) {
    objective.ideal = best = amount_of(*ideal, is_bytes(metric));
    if (!std::isfinite(best) || !metric.range.holds(best)) ideal->fail_expected(to_text(metric.range));
  }
  if (const ConfigNode* reference = item.find(kReference)) {
    objective.reference = amount_of(*reference, is_bytes(metric));
    if (!std::isfinite(*objective.reference) || !is_worse(objective, *objective.reference, best)) {
      reference->fail_expected(std::string("a number ") + (is_minimized(objective) ? "above" : "below") +
                               " the best value, " + number_text(best));
    }
  }
}

/// Returns the distance of the two ends on the objective's scale, negative if it is maximized.
double length_of_scale(const Objective& objective) {
  const double ideal = objective.ideal.value();
  const double reference = objective.reference.value();
  return objective.scale == Scale::kLinear ? reference - ideal : std::log(reference / ideal);
}

/// Returns why no volume can be measured between two ends, or an empty text if it can, or one is unknown.
std::string problem_of_ends(const Objective& objective) {
  if (!objective.reference || !objective.ideal || std::isfinite(length_of_scale(objective))) return "";
  return std::string("expected a reference and an ideal with a finite ") +
         (objective.scale == Scale::kLog ? "quotient" : "difference") + ", got " +
         number_text(*objective.reference) + " and " + number_text(*objective.ideal);
}

/// Reads the scale: logarithmic for computed costs unless the configuration says otherwise, or states an end
/// without a logarithm.
void read_scale(const ConfigNode& item, Objective& objective) {
  const auto has_logarithm = [](const std::optional<double>& stated) { return stated.value_or(1) > 0; };
  const ConfigNode* scale = item.find(kScale);
  objective.states_scale = scale != nullptr;
  if (scale == nullptr) {
    const bool is_log =
        objective.computed && has_logarithm(objective.reference) && has_logarithm(objective.ideal);
    objective.scale = is_log ? Scale::kLog : Scale::kLinear;
    return;
  }
  const OptionKind<std::size_t> word = word_index({kScales.begin(), kScales.end()});
  std::size_t index = 0;
  if (!word.read(*scale, index)) scale->fail_expected(word.expected);
  objective.scale = static_cast<Scale>(index);
  if (objective.scale == Scale::kLinear) return;
  for (const auto& [key, end] :
       {std::pair(kReference, objective.reference), std::pair(kIdeal, objective.ideal)}) {
    if (!has_logarithm(end)) item.at(key).fail_expected("a number above 0 beside `scale: log`");
  }
}

/// Fills in the ends that an objective lacks. Costs are never below 0; what an expression gives may be.
/// @param range  values that are compared
void complete_ends(const trial::MetricRange& range, const CostRange& found, Objective& objective) {
  std::optional<double>& low = low_end(objective);
  std::optional<double>& high = high_end(objective);
  const bool has_logarithms = objective.scale == Scale::kLog && (found.least > 0 || range.low >= 0);
  if (!has_logarithms && !objective.states_scale) objective.scale = Scale::kLinear;
  const bool is_linear = objective.scale == Scale::kLinear;
  const double lowest = is_linear ? range.low : std::max(range.low, 0.0);
  if (!high) {
    double most = std::min(found.largest, range.high);
    if (most <= lowest) most = range.high;  // the sample contains no network that meets the constraint
    if (!std::isfinite(most) || most <= low.value_or(lowest)) return;
    high = most;
  }
  if (low) return;
  const double least =
      is_linear ? std::max(found.least, lowest) : std::min(found.smallest, *high) / kBelowSmallest;
  if (least < *high) low = least;
}

/// Fills in the ends of a metric that a program counts, as far as its bounds tell them: nothing is counted
/// for them. Its scale is linear unless the configuration says otherwise.
void complete_counted_ends(const trial::MetricRange& range, Objective& objective) {
  if (!objective.states_scale) objective.scale = Scale::kLinear;
  if (objective.scale == Scale::kLinear) complete_ends(range, {}, objective);
}

}  // namespace

std::string to_text(Scale scale) {
  return std::string(kScales.at(static_cast<std::size_t>(scale)));
}

double normalized(const Objective& objective, double value) {
  const double ideal = objective.ideal.value();
  if (!is_worse(objective, value, ideal)) return 0;
  if (objective.scale == Scale::kLinear) return (value - ideal) / length_of_scale(objective);
  if (value <= 0) return std::numeric_limits<double>::infinity();  // maximized, and far below the reference
  return std::log(value / ideal) / length_of_scale(objective);
}

void read_ends(const ConfigNode& item, const std::vector<Constraint>& constraints,
               const trial::Metric& metric, Objective& objective) {
  const trial::MetricRange range = compared_range(metric, constraints);
  read_stated_ends(item, metric, is_minimized(objective) ? range.low : range.high, objective);
  read_scale(item, objective);
  const bool is_log = objective.scale == Scale::kLog;
  const std::optional<double> stated_reference = objective.reference;
  if (!low_end(objective) && std::isfinite(range.low) && (!is_log || range.low > 0))
    low_end(objective) = range.low;
  // The high end of a computed metric may be the largest cost, which the space knows.
  if (!high_end(objective) && std::isfinite(range.high) && !objective.computed)
    high_end(objective) = range.high;
  if (is_log && !objective.computed && !low_end(objective)) {
    item.at(kScale).fail(std::string("a logarithmic scale needs ") +
                         (is_minimized(objective) ? "an `ideal`" : "a `reference`") +
                         " above 0 in the objective, or a constraint with a lower bound above 0");
  }
  // A single possible value is no reference.
  if (!stated_reference && objective.reference && objective.ideal &&
      !is_worse(objective, *objective.reference, *objective.ideal))
    objective.reference.reset();
  if (const std::string problem = problem_of_ends(objective); !problem.empty()) item.fail(problem);
}

void check_derived_ends(const ConfigNode& objectives, const ObjectiveSet& set) {
  const std::vector<Objective>& all = set.of_full_trainings().objectives();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string problem = problem_of_ends(all[i]);
    if (problem.empty()) continue;
    objectives.items().at(i).fail(problem +
                                  ", which the values of the space give: state `reference` and `ideal`");
  }
}

void ObjectiveSet::complete_references(const space::SearchSpace& space) {
  if (full_ != nullptr) {
    ObjectiveSet all = *full_;
    all.complete_references(space);
    full_ = std::make_shared<const ObjectiveSet>(std::move(all));
  }
  const auto is_complete = [](const Objective& one) { return !one.computed || (one.reference && one.ideal); };
  if (std::ranges::all_of(objectives_, is_complete)) return;
  const CostRanges costs = CostSurvey(*this, space).run();
  for (Objective& objective : objectives_) {
    if (is_complete(objective)) continue;
    const trial::MetricRange range =
        compared_range(*trial::find_metric(computed_, objective.metric), constraints_);
    if (std::ranges::find(space.counted(), objective.metric) != space.counted().end()) {
      complete_counted_ends(range, objective);
    } else if (const auto found = costs.find(objective.metric); found != costs.end()) {
      complete_ends(range, found->second, objective);
    }
  }
}

bool ObjectiveSet::has_volume() const {
  return std::ranges::all_of(objectives_, [](const Objective& objective) {
    return objective.reference && objective.ideal &&
           is_worse(objective, *objective.reference, *objective.ideal);
  });
}

ConfigNode ObjectiveSet::to_config() const {
  if (full_ != nullptr) return full_->to_config();
  std::vector<ConfigNode> items;
  for (const Objective& objective : objectives_) {
    const ConfigNode metric = ConfigNode::make_scalar(objective.metric, {});
    std::vector<ConfigNode::Entry> entries{{is_minimized(objective) ? "minimize" : "maximize", metric, {}}};
    const auto state = [&](const char* key, const std::string& value) {
      entries.push_back({key, ConfigNode::make_scalar(value, {}), {}});
    };
    if (objective.reference) state(kReference, number_text(*objective.reference));
    if (objective.ideal) state(kIdeal, number_text(*objective.ideal));
    state(kScale, to_text(objective.scale));
    items.push_back(ConfigNode::make_map(std::move(entries), {}));
  }
  return ConfigNode::make_list(std::move(items), {});
}

ConfigNode with_ends_of(const ConfigNode& objectives, const ConfigNode& of_run) {
  std::vector<ConfigNode> items = objectives.items();
  constexpr std::array kBox{kReference, kIdeal, kScale};
  for (std::size_t i = 0; i < std::min(items.size(), of_run.items().size()); ++i) {
    ConfigNode& asked = items[i];
    const ConfigNode& begun = of_run.items()[i];
    const auto has_same = [&](const char* goal) {
      const ConfigNode* const metric = asked.find(goal);
      const ConfigNode* const earlier = begun.find(goal);
      return metric != nullptr && earlier != nullptr && metric->is_scalar() && earlier->is_scalar() &&
             metric->as_text() == earlier->as_text();
    };
    if (!asked.is_map() || !begun.is_map() || (!has_same("minimize") && !has_same("maximize"))) continue;
    if (std::ranges::any_of(kBox, [&](const char* key) { return asked.find(key) != nullptr; })) continue;
    for (const char* key : kBox) {
      if (const ConfigNode* const stated = begun.find(key)) asked.set(key, *stated);
    }
  }
  return ConfigNode::make_list(std::move(items), objectives.position());
}

}  // namespace skyline::objective

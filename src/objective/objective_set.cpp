#include "skyline/objective/objective_set.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace skyline::objective {
namespace {

struct ComputedMetric {
  std::string_view name;
  std::int64_t space::Cost::*cost;
};

constexpr std::array kComputedMetrics{
    ComputedMetric{"parameters", &space::Cost::parameters},
    ComputedMetric{"flops", &space::Cost::flops},
    ComputedMetric{"macs", &space::Cost::macs},
    ComputedMetric{"peak_activation_bytes", &space::Cost::peak_activation_bytes},
    ComputedMetric{"training_activation_bytes", &space::Cost::training_activation_bytes},
    ComputedMetric{"weight_bytes", &space::Cost::weight_bytes}};

struct SenseWord {
  std::string_view word;
  Sense sense;
};
constexpr std::array kSenses{SenseWord{"maximize", Sense::kMaximize},
                             SenseWord{"minimize", Sense::kMinimize}};
constexpr const char* kObjective = "{maximize: METRIC} or {minimize: METRIC}";
constexpr const char* kConstraint = "{METRIC: [low, high]}";

std::vector<std::string> known_metrics(const std::vector<std::string>& measured) {
  std::vector<std::string> known = computed_metric_names();
  known.insert(known.end(), measured.begin(), measured.end());
  return known;
}

/// JSON schema of a list of maps with one key each. @param items  by key
ConfigNode list_of_single_entries(std::vector<ConfigNode::Entry> items) {
  ConfigNode schema = load_yaml_text(
      "{type: array, items: {type: object, minProperties: 1, maxProperties: 1, additionalProperties: false}}",
      "schema");
  schema.set("items.properties", ConfigNode::make_map(std::move(items), {}));
  return schema;
}

/// The source of a metric's values.
struct Source {
  bool computed = false;
  std::size_t measured_index = 0;
};

/// The metrics of an evaluator.
struct MeasuredMetrics {
  const std::vector<std::string>& all;
  const std::vector<std::string>& final_only;

  bool is_final(const std::string& metric) const {
    return std::ranges::find(final_only, metric) != final_only.end();
  }
  /// Those that objectives and constraints may name, computed ones included.
  std::vector<std::string> usable() const {
    std::vector<std::string> metrics = known_metrics(all);
    std::erase_if(metrics, [this](const std::string& metric) { return is_final(metric); });
    return metrics;
  }
};

Source find_source(const ConfigNode& node, const std::string& metric, const MeasuredMetrics& measured) {
  const std::vector<std::string> computed = computed_metric_names();
  if (std::find(computed.begin(), computed.end(), metric) != computed.end()) return {true, 0};
  if (measured.is_final(metric)) {
    node.fail("expected one of " + joined(measured.usable()) + ", got " + metric +
              ", which only full trainings after the search measure");
  }
  const auto place = std::find(measured.all.begin(), measured.all.end(), metric);
  if (place != measured.all.end()) return {false, static_cast<std::size_t>(place - measured.all.begin())};
  node.fail("unknown metric `" + metric + "`, " + suggestion(metric, measured.usable()));
}

/// The only key of a list item such as {maximize: accuracy}.
const ConfigNode::Entry& single_entry(const ConfigNode& item, std::string_view expected) {
  if (!item.is_map() || item.entries().size() != 1) item.fail_expected(expected);
  return item.entries().front();
}

Objective read_objective(const ConfigNode& item, const MeasuredMetrics& measured) {
  const ConfigNode::Entry& entry = single_entry(item, kObjective);
  const auto sense = std::ranges::find(kSenses, entry.key, &SenseWord::word);
  if (sense == kSenses.end()) {
    item.fail("unknown key `" + entry.key + "`, " + suggestion(entry.key, {"maximize", "minimize"}));
  }
  Objective objective;
  objective.metric = entry.value.as_text();
  objective.sense = sense->sense;
  const Source source = find_source(entry.value, objective.metric, measured);
  objective.computed = source.computed;
  objective.measured_index = source.measured_index;
  return objective;
}

Constraint read_constraint(const ConfigNode& item, const MeasuredMetrics& measured) {
  const ConfigNode::Entry& entry = single_entry(item, kConstraint);
  const Source source = find_source(entry.value, entry.key, measured);
  const ConfigNode& bounds = entry.value;
  if (!bounds.is_list() || bounds.items().size() != 2) bounds.fail_expected("[low, high]");
  Constraint constraint{entry.key, bounds.items()[0].as_number(), bounds.items()[1].as_number(),
                        source.computed, source.measured_index};
  if (constraint.low > constraint.high) {
    bounds.fail("the lower bound " + number_text(constraint.low) + " is above the upper bound " +
                number_text(constraint.high));
  }
  return constraint;
}

/// The value of an objective or a constraint of a trial that succeeded.
template <typename Spec>
double value_of(const Spec& spec, const space::Network& network, const trial::Measurements& measurements) {
  if (spec.computed) return computed_metric(network, spec.metric);
  require(spec.measured_index < measurements.values.size(), "a result has fewer values than metrics");
  return measurements.values[spec.measured_index];
}

bool within(const Constraint& constraint, double value) {
  return constraint.low <= value && value <= constraint.high;  // never true for NaN
}

template <typename Spec>
void check_new_metric(const std::vector<Spec>& specs, const Spec& spec, const ConfigNode& item) {
  const bool repeated =
      std::any_of(specs.begin(), specs.end(), [&](const Spec& other) { return other.metric == spec.metric; });
  if (repeated) item.fail("`" + spec.metric + "` is listed twice");
}

template <typename Spec>
void add_measured(const std::vector<Spec>& specs, std::vector<std::string>& names) {
  for (const Spec& spec : specs) {
    if (spec.computed || std::find(names.begin(), names.end(), spec.metric) != names.end()) continue;
    names.push_back(spec.metric);
  }
}

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

ValueDescription objectives_format(const std::vector<std::string>& measured) {
  const ConfigNode metric = word_index(known_metrics(measured)).schema;
  std::vector<ConfigNode::Entry> items;
  for (const SenseWord& sense : kSenses) items.push_back({std::string(sense.word), metric, {}});
  ConfigNode schema = list_of_single_entries(std::move(items));
  schema.set("minItems", ConfigNode::make_integer(1));
  return {std::string("a list of ") + kObjective, std::move(schema)};
}

ValueDescription constraints_format(const std::vector<std::string>& measured) {
  const ConfigNode bounds =
      load_yaml_text("{type: array, items: {type: number}, minItems: 2, maxItems: 2}", "schema");
  std::vector<ConfigNode::Entry> items;
  for (const std::string& metric : known_metrics(measured)) items.push_back({metric, bounds, {}});
  ConfigNode schema = list_of_single_entries(std::move(items));
  schema.set("type", ConfigNode::make_list({schema_text("array"), schema_text("null")}, {}));
  return {std::string("a list of ") + kConstraint, std::move(schema)};
}

std::string number_text(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::abs(value) < kExactIntegers && value == std::trunc(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return space::to_text(space::Value(value));
}

std::string to_text(const Constraint& constraint) {
  return constraint.metric + ": [" + number_text(constraint.low) + ", " + number_text(constraint.high) + "]";
}

ObjectiveSet ObjectiveSet::parse(const ConfigNode& objectives, const ConfigNode* constraints,
                                 const std::vector<std::string>& measured,
                                 const std::vector<std::string>& final_metrics) {
  const MeasuredMetrics metrics{measured, final_metrics};
  if (!objectives.is_list() || objectives.items().empty()) {
    objectives.fail_expected("a list of at least one objective, e.g. [{maximize: validation_accuracy}]");
  }
  ObjectiveSet set;
  for (const ConfigNode& item : objectives.items()) {
    const Objective objective = read_objective(item, metrics);
    check_new_metric(set.objectives_, objective, item);
    set.objectives_.push_back(objective);
  }
  if (constraints == nullptr || constraints->is_null()) return set;
  for (const ConfigNode& item : constraints->items()) {
    const Constraint constraint = read_constraint(item, metrics);
    check_new_metric(set.constraints_, constraint, item);
    set.constraints_.push_back(constraint);
  }
  return set;
}

std::vector<std::string> ObjectiveSet::measured_needed() const {
  std::vector<std::string> names;
  add_measured(objectives_, names);
  add_measured(constraints_, names);
  return names;
}

bool ObjectiveSet::feasible(const space::Network& network) const {
  return std::all_of(constraints_.begin(), constraints_.end(), [&](const Constraint& constraint) {
    return !constraint.computed || within(constraint, computed_metric(network, constraint.metric));
  });
}

std::optional<std::vector<double>> ObjectiveSet::values(const trial::CommittedTrial& committed) const {
  const auto* measurements = std::get_if<trial::Measurements>(&committed.outcome);
  if (measurements == nullptr) return std::nullopt;
  const space::Network& network = committed.trial.architecture().network;
  for (const Constraint& constraint : constraints_) {
    if (!within(constraint, value_of(constraint, network, *measurements))) return std::nullopt;
  }
  std::vector<double> values;
  for (const Objective& objective : objectives_) {
    values.push_back(value_of(objective, network, *measurements));
    if (std::isnan(values.back())) return std::nullopt;
  }
  return values;
}

std::optional<std::vector<double>> ObjectiveSet::minimized(const trial::CommittedTrial& committed) const {
  std::optional<std::vector<double>> result = values(committed);
  if (!result) return result;
  for (std::size_t i = 0; i < objectives_.size(); ++i) {
    if (objectives_[i].sense == Sense::kMaximize) (*result)[i] = -(*result)[i];
  }
  return result;
}

}  // namespace skyline::objective

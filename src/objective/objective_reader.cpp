// Reads `objectives` and `constraints`.
#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "objective/objective_ends.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace skyline::objective {
namespace {

struct SenseWord {
  std::string_view word;
  Sense sense;
};
constexpr std::array kSenses{SenseWord{"maximize", Sense::kMaximize},
                             SenseWord{"minimize", Sense::kMinimize}};
constexpr const char* kObjective = "{maximize: METRIC} or {minimize: METRIC}";
constexpr std::string_view kReference = "reference";
constexpr const char* kConstraint = "{METRIC: [low, high]}";

std::vector<std::string> known_metrics(const std::vector<std::string>& measured) {
  std::vector<std::string> known = computed_metric_names();
  known.insert(known.end(), measured.begin(), measured.end());
  return known;
}

/// JSON schema of a list of maps with one of these keys each. @param items  by key
ConfigNode list_of_single_entries(std::vector<ConfigNode::Entry> items) {
  ConfigNode schema = load_yaml_text(
      "{type: array, items: {type: object, minProperties: 1, maxProperties: 1, additionalProperties: false}}",
      "schema");
  schema.set("items.properties", ConfigNode::make_map(std::move(items), {}));
  return schema;
}

/// A reference is measured against afterwards: it changes no trial.
ConfigNode without_references(const ConfigNode& objectives) {
  std::vector<ConfigNode> items;
  for (const ConfigNode& item : objectives.items()) {
    std::vector<ConfigNode::Entry> entries = item.entries();
    std::erase_if(entries, [](const ConfigNode::Entry& entry) { return entry.key == kReference; });
    items.push_back(ConfigNode::make_map(std::move(entries), item.position()));
  }
  return ConfigNode::make_list(std::move(items), objectives.position());
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
  node.fail("unknown metric " + in_quotes(metric) + ", " + suggestion(metric, measured.usable()));
}

Objective read_objective(const ConfigNode& item, const MeasuredMetrics& measured) {
  if (!item.is_map() || item.entries().empty()) item.fail_expected(kObjective);
  Objective objective;
  for (const ConfigNode::Entry& entry : item.entries()) {
    if (entry.key == kReference) {
      objective.reference = entry.value.as_number();
      continue;
    }
    const auto sense = std::ranges::find(kSenses, entry.key, &SenseWord::word);
    if (sense == kSenses.end()) {
      key_node(item, entry)
          .fail("unknown key " + in_quotes(entry.key) + ", " +
                suggestion(entry.key, {"maximize", "minimize", std::string(kReference)}));
    }
    if (!objective.metric.empty()) item.fail_expected(kObjective);
    objective.metric = entry.value.as_text();
    objective.sense = sense->sense;
    const Source source = find_source(entry.value, objective.metric, measured);
    objective.computed = source.computed;
    objective.measured_index = source.measured_index;
  }
  if (objective.metric.empty()) item.fail_expected(kObjective);
  return objective;
}

std::string range_text(const MetricRange& range) {
  if (std::isinf(range.high)) return "a number of at least " + number_text(range.low);
  return "a number from " + number_text(range.low) + " to " + number_text(range.high) +
         ", a share and no percentage";
}

/// Infinity leaves a side open.
void check_bound(const ConfigNode& node, const std::string& metric, double bound) {
  const MetricRange range = metric_range(metric);
  if (std::isinf(bound) || (bound >= range.low && bound <= range.high)) return;
  node.fail("no `" + metric + "` can be " + number_text(bound) + ": expected " + range_text(range));
}

Constraint read_constraint(const ConfigNode& item, const MeasuredMetrics& measured) {
  if (!item.is_map() || item.entries().size() != 1) item.fail_expected(kConstraint);
  const ConfigNode::Entry& entry = item.entries().front();
  const Source source = find_source(key_node(item, entry), entry.key, measured);
  const ConfigNode& bounds = entry.value;
  if (!bounds.is_list() || bounds.items().size() != 2) bounds.fail_expected("[low, high]");
  Constraint constraint{entry.key, bounds.items()[0].as_number(), bounds.items()[1].as_number(),
                        source.computed, source.measured_index};
  if (constraint.low > constraint.high) {
    bounds.fail("the lower bound " + number_text(constraint.low) + " is above the upper bound " +
                number_text(constraint.high));
  }
  check_bound(bounds.items()[0], entry.key, constraint.low);
  check_bound(bounds.items()[1], entry.key, constraint.high);
  return constraint;
}

template <typename Spec>
void check_new_metric(const std::vector<Spec>& specs, const Spec& spec, const ConfigNode& item) {
  const bool repeated =
      std::any_of(specs.begin(), specs.end(), [&](const Spec& other) { return other.metric == spec.metric; });
  if (repeated) item.fail("`" + spec.metric + "` is listed twice");
}

}  // namespace

ValueDescription objectives_format(const std::vector<std::string>& measured) {
  const ConfigNode metric = word_index(known_metrics(measured)).schema;
  std::vector<ConfigNode::Entry> items;
  for (const SenseWord& sense : kSenses) items.push_back({std::string(sense.word), metric, {}});
  items.push_back({std::string(kReference), number(Range()).schema, {}});
  ConfigNode schema = list_of_single_entries(std::move(items));
  schema.set("items.maxProperties", ConfigNode::make_integer(2));
  schema.set("items.oneOf", load_yaml_text("[{required: [maximize]}, {required: [minimize]}]", "schema"));
  schema.set("minItems", ConfigNode::make_integer(1));
  ValueDescription format{std::string("a list of ") + kObjective, std::move(schema)};
  format.identity = without_references;
  return format;
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
  const bool constrained = constraints != nullptr && !constraints->is_null();
  for (const ConfigNode& item : constrained ? constraints->items() : std::vector<ConfigNode>()) {
    const Constraint constraint = read_constraint(item, metrics);
    check_new_metric(set.constraints_, constraint, item);
    set.constraints_.push_back(constraint);
  }
  for (std::size_t i = 0; i < set.objectives_.size(); ++i) {
    read_ends(objectives.items()[i], set.constraints_, set.objectives_[i]);
  }
  return set;
}

}  // namespace skyline::objective

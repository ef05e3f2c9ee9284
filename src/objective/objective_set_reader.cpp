#include "skyline/objective/objective_set.hpp"

#include "core/config/byte_size.hpp"
#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
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
constexpr std::array<std::string_view, 3> kEnds{kReference, kIdeal, kScale};
constexpr const char* kConstraint = "{METRIC: [low, high]}";

std::vector<std::string> with_costs(const std::vector<std::string>& measured) {
  std::vector<std::string> known = cost_metric_names();
  known.insert(known.end(), measured.begin(), measured.end());
  return known;
}

/// Returns the JSON schema of a list of maps with one of these keys each.
/// @param items  schemas by key
ConfigNode list_of_single_entries(std::vector<ConfigNode::Entry> items) {
  ConfigNode schema = load_yaml_text(
      "{type: array, items: {type: object, minProperties: 1, maxProperties: 1, additionalProperties: false}}",
      "schema");
  schema.set("items.properties", ConfigNode::make_map(std::move(items), {}));
  return schema;
}

/// Returns the schema of a metric's name: one of those that are known, or also any other.
ConfigNode metric_schema(const std::vector<std::string>& measured, bool others) {
  ConfigNode known = word_index(with_costs(measured)).schema;
  if (!others) return known;
  const auto any = ConfigNode::make_map({{"type", schema_text("string"), {}}}, {});
  return ConfigNode::make_map({{"anyOf", ConfigNode::make_list({std::move(known), any}, {}), {}}}, {});
}

/// Drops all but metrics and senses: the box of the volumes may change at a resume, unless the algorithm aims
/// at them.
ConfigNode without_ends(const ConfigNode& objectives) {
  std::vector<ConfigNode> items;
  for (const ConfigNode& item : objectives.items()) {
    std::vector<ConfigNode::Entry> entries = item.entries();
    std::erase_if(entries, [](const ConfigNode::Entry& entry) {
      return std::ranges::find(kSenses, entry.key, &SenseWord::word) == kSenses.end();
    });
    items.push_back(ConfigNode::make_map(std::move(entries), item.position()));
  }
  return ConfigNode::make_list(std::move(items), objectives.position());
}

/// Returns whether objectives and constraints may name a metric. Nothing is chosen by the test set.
bool is_usable(const trial::Metric& metric) {
  return metric.when == trial::Metric::When::kEveryTrial || metric.of != trial::Metric::Of::kTest;
}

/// The metrics of a run.
struct UsableMetrics {
  const std::vector<trial::Metric>& measured;
  std::vector<trial::Metric> computed;
  bool has_network = true;

  /// Returns those that objectives and constraints may name.
  std::vector<std::string> usable() const {
    std::vector<std::string> names = trial::names_of(computed);
    for (const trial::Metric& cost : cost_metrics()) {
      if (has_network && trial::find_metric(computed, cost.name) == nullptr) names.push_back(cost.name);
    }
    for (const trial::Metric& metric : measured) {
      if (is_usable(metric)) names.push_back(metric.name);
    }
    return names;
  }
};

/// Sets the source of an objective's or a constraint's values, and returns the description of its metric.
template <typename Spec>
const trial::Metric& find_source(const ConfigNode& node, const UsableMetrics& metrics, Spec& spec) {
  const trial::Metric* measured = trial::find_metric(metrics.measured, spec.metric);
  const trial::Metric* computed = trial::find_metric(metrics.computed, spec.metric);
  spec.computed = measured == nullptr && computed != nullptr;
  if (spec.computed) return *computed;
  if (measured == nullptr && trial::find_metric(cost_metrics(), spec.metric) != nullptr) {
    node.fail("`" + spec.metric +
              "` is computed from a network, and this space has none; to have it reported, "
              "list it under the evaluator's `metrics`");
  }
  if (measured == nullptr) {
    node.fail("unknown metric " + in_quotes(spec.metric) + ", " +
              suggestion(spec.metric, metrics.usable(), NamesOf::kMetrics));
  }
  if (!is_usable(*measured)) {
    node.fail("expected one of " + joined(metrics.usable()) + ", got " + spec.metric +
              ", which only full trainings after the search measure");
  }
  spec.measured_index = static_cast<std::size_t>(measured - metrics.measured.data());
  spec.when = measured->when;
  return *measured;
}

Objective read_objective(const ConfigNode& item, const UsableMetrics& metrics) {
  if (!item.is_map() || item.entries().empty()) item.fail_expected(kObjective);
  Objective objective;
  for (const ConfigNode::Entry& entry : item.entries()) {
    if (std::ranges::find(kEnds, entry.key) != kEnds.end()) continue;  // read_ends() reads them
    const auto sense = std::ranges::find(kSenses, entry.key, &SenseWord::word);
    if (sense == kSenses.end()) {
      key_node(item, entry)
          .fail("unknown key " + in_quotes(entry.key) + ", " +
                suggestion(entry.key, {"maximize", "minimize", kReference, kIdeal, kScale}));
    }
    if (!objective.metric.empty()) item.fail_expected(kObjective);
    objective.metric = entry.value.as_text();
    objective.sense = sense->sense;
    (void)find_source(entry.value, metrics, objective);
  }
  if (objective.metric.empty()) item.fail_expected(kObjective);
  return objective;
}

/// An infinite bound leaves its side open.
void check_bound(const ConfigNode& node, const trial::Metric& metric, double bound) {
  if (std::isinf(bound) || metric.range.holds(bound)) return;
  const bool is_share = metric.range == trial::MetricRange{0, 1};
  node.fail("no `" + metric.name + "` can be " + number_text(bound) + ": expected " + to_text(metric.range) +
            (is_share ? ", a share and no percentage" : ""));
}

Constraint read_constraint(const ConfigNode& item, const UsableMetrics& metrics) {
  if (!item.is_map() || item.entries().size() != 1) item.fail_expected(kConstraint);
  const ConfigNode::Entry& entry = item.entries().front();
  Constraint constraint{entry.key};
  const trial::Metric& metric = find_source(key_node(item, entry), metrics, constraint);
  const ConfigNode& bounds = entry.value;
  if (!bounds.is_list() || bounds.items().size() != 2) bounds.fail_expected("[low, high]");
  constraint.low = amount_of(bounds.items()[0], is_bytes(metric));
  constraint.high = amount_of(bounds.items()[1], is_bytes(metric));
  if (constraint.low > constraint.high) {
    bounds.fail("the lower bound " + number_text(constraint.low) + " is above the upper bound " +
                number_text(constraint.high));
  }
  if (constraint.low == constraint.high && std::isinf(constraint.low)) {
    bounds.fail("expected bounds that a finite number can meet, got [" + bounds.items()[0].as_text() + ", " +
                bounds.items()[1].as_text() + "]");
  }
  check_bound(bounds.items()[0], metric, constraint.low);
  check_bound(bounds.items()[1], metric, constraint.high);
  return constraint;
}

template <typename Spec>
void check_new_metric(const std::vector<Spec>& specs, const Spec& spec, const ConfigNode& item) {
  const bool is_new = std::ranges::find(specs, spec.metric, &Spec::metric) == specs.end();
  if (!is_new) item.fail("`" + spec.metric + "` is listed twice");
}

/// Returns the first place in a list of objectives or constraints that names a metric of a kind.
std::optional<ConfigNode> first_named(const ConfigNode& list, MetricKind is_of_kind) {
  if (!list.is_list()) return std::nullopt;
  for (const ConfigNode& item : list.items()) {
    if (!item.is_map()) continue;
    for (const ConfigNode::Entry& entry : item.entries()) {
      if (is_of_kind(entry.key)) return key_node(item, entry);
      if (entry.value.is_scalar() && is_of_kind(entry.value.as_text())) return entry.value;
    }
  }
  return std::nullopt;
}

/// Returns the descriptions of the computed metrics of a space.
/// @param has_int8  whether one of the costs in int8 is named
/// @throws UserError for a name that a cost has, or that a measured metric has, too
std::vector<trial::Metric> all_computed(const ConfigNode& objectives,
                                        const std::vector<trial::Metric>& measured,
                                        const std::vector<trial::Metric>& given, bool has_network,
                                        bool has_int8) {
  std::vector<trial::Metric> computed = given;
  for (const trial::Metric& metric : given) {
    if (trial::find_metric(measured, metric.name) == nullptr) continue;
    objectives.fail("the evaluator measures `" + metric.name +
                    "`, which an expression gives, too: give one of them another name");
  }
  for (const trial::Metric& cost : cost_metrics()) {
    if (!has_network || (is_int8_cost(cost.name) && !has_int8)) continue;
    if (trial::find_metric(measured, cost.name) != nullptr ||
        trial::find_metric(given, cost.name) != nullptr) {
      objectives.fail("the evaluator's metric `" + cost.name +
                      "` is computed from the network: give it another name there");
    }
    computed.push_back(cost);
  }
  return computed;
}

template <typename Spec>
bool erase_of_full_trainings(std::vector<Spec>& specs) {
  return std::erase_if(specs,
                       [](const Spec& spec) { return spec.when == trial::Metric::When::kFullTraining; }) > 0;
}

}  // namespace

/// Keeps all of the set for full trainings, if they have metrics of their own, and the rest for the search.
void ObjectiveSet::split_off_full_trainings() {
  auto all = std::make_shared<const ObjectiveSet>(*this);
  const bool has_objectives = erase_of_full_trainings(objectives_);
  const bool has_constraints = erase_of_full_trainings(constraints_);
  if (has_objectives || has_constraints) full_ = std::move(all);
}

ValueDescription objectives_format(const std::vector<std::string>& measured, bool others) {
  const ConfigNode metric = metric_schema(measured, others);
  std::vector<ConfigNode::Entry> items;
  for (const SenseWord& sense : kSenses) items.push_back({std::string(sense.word), metric, {}});
  for (const char* end : {kReference, kIdeal}) items.push_back({end, amount_schema(), {}});
  items.push_back({kScale, word_index({kScales.begin(), kScales.end()}).schema, {}});
  ConfigNode schema = list_of_single_entries(std::move(items));
  schema.set("items.maxProperties", ConfigNode::make_integer(4));
  schema.set("items.oneOf", load_yaml_text("[{required: [maximize]}, {required: [minimize]}]", "schema"));
  schema.set("minItems", ConfigNode::make_integer(1));
  ValueDescription format{std::string("a list of ") + kObjective, std::move(schema)};
  format.identity = without_ends;
  return format;
}

ValueDescription constraints_format(const std::vector<std::string>& measured, bool others) {
  ConfigNode bounds = load_yaml_text("{type: array, minItems: 2, maxItems: 2}", "schema");
  bounds.set("items", amount_schema());
  std::vector<ConfigNode::Entry> items;
  for (const std::string& metric : with_costs(measured)) items.push_back({metric, bounds, {}});
  ConfigNode schema = list_of_single_entries(std::move(items));
  if (others) schema.set("items.additionalProperties", bounds);
  schema.set("type", ConfigNode::make_list({schema_text("array"), schema_text("null")}, {}));
  return {std::string("a list of ") + kConstraint, std::move(schema)};
}

std::optional<ConfigNode> first_aim(const ConfigNode& root, MetricKind is_of_kind) {
  for (const char* section : {"objectives", "constraints"}) {
    const ConfigNode* const list = root.is_map() ? root.find(section) : nullptr;
    if (list == nullptr) continue;
    if (std::optional<ConfigNode> named = first_named(*list, is_of_kind)) return named;
  }
  return std::nullopt;
}

ObjectiveSet ObjectiveSet::parse(const ConfigNode& objectives, const ConfigNode* constraints,
                                 const std::vector<trial::Metric>& measured, bool has_network,
                                 const std::vector<trial::Metric>& given) {
  if (!objectives.is_list() || objectives.items().empty()) {
    objectives.fail_expected("a list of at least one objective, e.g. [{maximize: validation_accuracy}]");
  }
  const bool has_int8 = first_named(objectives, is_int8_cost) ||
                        (constraints != nullptr && first_named(*constraints, is_int8_cost));
  const UsableMetrics metrics{measured, all_computed(objectives, measured, given, has_network, has_int8),
                              has_network};
  ObjectiveSet set;
  set.computed_ = metrics.computed;
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
    Objective& objective = set.objectives_[i];
    const trial::Metric& metric = find_source(objectives.items()[i], metrics, objective);
    read_ends(objectives.items()[i], set.constraints_, metric, objective);
    const auto computed = std::ranges::find(set.computed_, objective.metric, &trial::Metric::name);
    const bool is_given = trial::find_metric(given, objective.metric) != nullptr;
    if (is_given && computed != set.computed_.end()) {
      const bool is_lower = objective.sense == Sense::kMinimize;
      computed->better = is_lower ? trial::Better::kLower : trial::Better::kHigher;
    }
  }
  set.split_off_full_trainings();
  if (set.objectives_.empty()) {
    objectives.fail(
        "expected an objective that the trials of the search have, since `when: full` is for full "
        "trainings alone");
  }
  return set;
}

}  // namespace skyline::objective

#include "trial/given_metric.hpp"

#include "core/config/config_text.hpp"
#include "trial/metric_keys.hpp"

#include <array>
#include <memory>

namespace skyline::trial {
namespace {

/// Reads an expression, which stays as it is written.
OptionKind<ConfigNode> expression() {
  OptionKind<ConfigNode> kind = tree("an expression, for example \"$layers * $width ** 2\"",
                                     load_yaml_text("{type: [string, number]}", "schema"));
  kind.read = [](const ConfigNode& node, ConfigNode& value) {
    if (!node.is_scalar() || node.as_text().empty()) return false;
    value = node;
    return true;
  };
  return kind;
}

/// Adds the given metrics of a map by names.
void add_from(const ConfigNode& map, std::vector<GivenMetric>& found) {
  if (!map.is_map()) return;
  for (const ConfigNode::Entry& entry : map.entries()) {
    if (is_given(entry)) found.push_back(read_described(map, entry, GivenMetric::table()));
  }
}

}  // namespace

Metric GivenMetric::description() const {
  Metric metric{.name = name,
                .better = better.value_or(Better::kLower),
                .range = range,
                .unit = unit,
                .computed = true};
  return metric;
}

const OptionTable<GivenMetric>& GivenMetric::table() {
  static const OptionTable<GivenMetric> table{
      {"is", &GivenMetric::is, expression(),
       "In place of a measurement: an expression of parameters and of the network's costs, by which the "
       "metric is known before a training (metrics.md).",
       KeyRule::kRequired},
      {"better", &GivenMetric::better, if_given(better_direction()),
       "The better direction, where no objective says it."},
      {"range", &GivenMetric::range, metric_range(),
       "All values that it can have; an architecture with another one is invalid. Unbounded unless given."},
      {"unit", &GivenMetric::unit, text("a word"), "Its unit, for people."}};
  return table;
}

const OptionTable<GivenMetric>& GivenMetric::counted_table() {
  static const OptionTable<GivenMetric> table{
      {"better", &GivenMetric::better, if_given(better_direction()),
       "The better direction, where no objective says it."},
      {"range", &GivenMetric::range, metric_range(),
       "All values that it can have; another answer of the program is a mistake. Unbounded unless given."},
      {"unit", &GivenMetric::unit, text("a word"), "Its unit, for people."}};
  return table;
}

bool is_given(const ConfigNode::Entry& entry) {
  return entry.value.is_map() && entry.value.find("is") != nullptr;
}

OptionKind<std::vector<GivenMetric>> given_by_name(const OptionTable<GivenMetric>& table,
                                                   const std::string& expected) {
  return described_by_name<GivenMetric>(
      expected, table.schema(), {{"NAME", std::make_shared<const OptionTable<GivenMetric>>(table)}},
      [&table](const ConfigNode& map, const ConfigNode::Entry& entry) {
        return read_described(map, entry, table);
      },
      [&table](const GivenMetric& metric) { return table.to_config(metric); });
}

std::vector<GivenMetric> given_metrics(const ConfigNode& root) {
  constexpr std::array kSections{"command", "computed", "training"};
  std::vector<GivenMetric> found;
  for (const char* name : kSections) {
    const ConfigNode* const section = root.is_map() ? root.find(name) : nullptr;
    const ConfigNode* const metrics =
        section != nullptr && section->is_map() ? section->find("metrics") : nullptr;
    if (metrics == nullptr) continue;
    add_from(*metrics, found);
    for (const ConfigNode& item : metrics->is_list() ? metrics->items() : std::vector<ConfigNode>()) {
      add_from(item, found);
    }
  }
  const ConfigNode* const costs = root.is_map() ? root.find("costs") : nullptr;
  const ConfigNode* const counted = costs != nullptr && costs->is_map() ? costs->find("metrics") : nullptr;
  if (counted == nullptr || !counted->is_map()) return found;
  for (const ConfigNode::Entry& entry : counted->entries())
    found.push_back(read_described(*counted, entry, GivenMetric::counted_table()));
  return found;
}

std::vector<Metric> descriptions_of(const std::vector<GivenMetric>& metrics) {
  std::vector<Metric> descriptions;
  for (const GivenMetric& metric : metrics) descriptions.push_back(metric.description());
  return descriptions;
}

std::vector<space::GivenExpression> expressions_of(const std::vector<GivenMetric>& metrics) {
  std::vector<space::GivenExpression> expressions;
  for (const GivenMetric& metric : metrics) {
    expressions.push_back({metric.name, metric.is, metric.range.low, metric.range.high});
  }
  return expressions;
}

}  // namespace skyline::trial

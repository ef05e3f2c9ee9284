#include "trial/metric_keys.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "trial/trial_fields.hpp"

#include <cmath>

namespace skyline::trial {

namespace {

/// Writes an end of a range, which may be open.
ConfigNode end_node(double end) {
  if (std::isfinite(end)) return ConfigNode::make_number(end);
  return ConfigNode::make_scalar(end < 0 ? "-.inf" : ".inf", {});
}

}  // namespace

void check_metric_name(const ConfigNode& name) {
  const std::string& text = name.as_text();
  if (text.empty() || printable(text) != text) {
    name.fail("expected a name of printable characters for this metric");
  }
  if (text == "result" || is_column_name(text)) {
    name.fail(in_quotes(text) +
              " has a meaning of its own in reports and results: give the metric another name");
  }
}

OptionKind<MetricRange> metric_range() {
  OptionKind<MetricRange> kind{
      {"[low, high]",
       load_yaml_text("{type: array, items: {type: number}, minItems: 2, maxItems: 2}", "schema")}};
  kind.read = [](const ConfigNode& node, MetricRange& range) {
    if (!node.is_list() || node.items().size() != 2) return false;
    range = {node.items()[0].as_number(), node.items()[1].as_number()};
    if (range.low < range.high) return true;
    node.fail("expected [low, high] with low below high, got [" + node.items()[0].as_text() + ", " +
              node.items()[1].as_text() + "]");
  };
  kind.write = [](const MetricRange& range) {
    if (range == MetricRange()) return ConfigNode();
    return ConfigNode::make_list({end_node(range.low), end_node(range.high)}, {});
  };
  return kind;
}

OptionKind<Better> better_direction() {
  return choice<Better>({{"higher", Better::kHigher}, {"lower", Better::kLower}});
}

OptionKind<Metric::When> when_measured() {
  return choice<Metric::When>({{"every", Metric::When::kEveryTrial}, {"full", Metric::When::kFullTraining}});
}

}  // namespace skyline::trial

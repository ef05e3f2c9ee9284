#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/trial/metric.hpp"

#include "core/config/config_text.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::trial {

// How configurations describe a metric.

/// Refuses a name that no metric can have: one that cannot be printed, or that reports and results have for
/// something else. @param name  the key or the value that names the metric. @throws UserError
void check_metric_name(const ConfigNode& name);
/// Reads `[low, high]`; an unbounded range is not written. @throws UserError for a range that is upside down
OptionKind<MetricRange> metric_range();
/// Reads `higher` or `lower`.
OptionKind<Better> better_direction();
/// Reads `every` or `full`.
OptionKind<Metric::When> when_measured();

/// Reads the entry `accuracy: {better: higher}` of a map by the keys of a table. @throws UserError
template <typename Described>
Described read_described(const ConfigNode& map, const ConfigNode::Entry& entry,
                         const OptionTable<Described>& table) {
  check_metric_name(key_node(map, entry));
  if (!entry.value.is_map()) entry.value.fail_expected(section_text(table));
  Described metric = table.parse(entry.value);
  metric.name = entry.key;
  return metric;
}

/// Reads a map of metrics by name, which may be empty.
/// @param each   schema of a metric
/// @param read   reads an entry of the map
/// @param write  returns the section of a metric
template <typename Described>
OptionKind<std::vector<Described>> described_by_name(
    const std::string& expected, const ConfigNode& each, std::vector<SubSection> sections,
    std::function<Described(const ConfigNode& map, const ConfigNode::Entry& entry)> read,
    std::function<ConfigNode(const Described& metric)> write) {
  ConfigNode schema = ConfigNode::make_map({{"type", schema_text("object"), {}}}, {});
  schema.set("additionalProperties", each);
  OptionKind<std::vector<Described>> kind{{expected, schema}};
  kind.sections = std::move(sections);
  kind.read = [read = std::move(read)](const ConfigNode& node, std::vector<Described>& metrics) {
    if (!node.is_map()) return false;
    metrics.clear();
    for (const ConfigNode::Entry& entry : node.entries()) metrics.push_back(read(node, entry));
    return true;
  };
  kind.write = [write = std::move(write)](const std::vector<Described>& metrics) {
    std::vector<ConfigNode::Entry> entries;
    for (const Described& metric : metrics) entries.push_back({metric.name, write(metric), {}});
    return entries.empty() ? ConfigNode() : ConfigNode::make_map(std::move(entries), {});
  };
  return kind;
}

}  // namespace skyline::trial

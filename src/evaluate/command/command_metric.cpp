#include "evaluate/command/command_metric.hpp"

#include "core/config/argument_vector.hpp"
#include "trial/metric_keys.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace skyline::evaluate {
namespace {

constexpr double kMostAtOnce = 1'000'000;
constexpr double kMostMeasurements = 1000;
constexpr std::array<std::string_view, 4> kOfMeasurements{"timeout", "at_once", "limits", "repeats"};

/// Reads `every`, `full` or `before`.
OptionKind<CommandMetric> when_measured() {
  using When = trial::Metric::When;
  const OptionKind<std::size_t> words = word_index({"every", "full", "before"});
  OptionKind<CommandMetric> kind{words};
  kind.read = [words](const ConfigNode& node, CommandMetric& metric) {
    std::size_t word = 0;
    if (!words.read(node, word)) return false;
    metric.when = word == 1 ? When::kFullTraining : When::kEveryTrial;
    metric.is_before = word == 2;
    return true;
  };
  kind.write = [words](const CommandMetric& metric) {
    return words.write(metric.is_before ? 2 : metric.when == When::kFullTraining ? 1 : 0);
  };
  return kind;
}

/// Refuses keys of measurements for a metric that the trainer reports, and those of a program that is asked
/// before the training for others.
void check_metric(const CommandMetric& metric, const ConfigNode& section) {
  if (!section.is_map()) return;
  if (metric.is_before && !metric.is_measured())
    section.at("when").fail("needs `run`, the program that is asked before the training");
  if (metric.is_exact && !metric.is_before) section.at("exact").fail("needs `when: before`");
  if (metric.is_measured()) return;
  for (const std::string_view key : kOfMeasurements) {
    if (const ConfigNode* given = section.find(key)) {
      given->fail("needs `run`, the program that measures the metric");
    }
  }
}

/// Writes a metric, without keys that it cannot have, and as before there were `repeats` where it has none.
ConfigNode complete_section(const CommandMetric& metric) {
  if (metric.source() == MetricSource::kExpression) return metric.given;
  const ConfigNode complete = CommandMetric::table().to_config(metric);
  std::vector<ConfigNode::Entry> entries = complete.entries();
  std::erase_if(entries, [&](const ConfigNode::Entry& entry) {
    if (entry.key == "repeats" && metric.measurements == 1) return true;
    if (entry.key == "exact" && !metric.is_before) return true;
    return !metric.is_measured() && std::ranges::find(kOfMeasurements, entry.key) != kOfMeasurements.end();
  });
  return ConfigNode::make_map(std::move(entries), {});
}

}  // namespace

const OptionTable<CommandMetric>& CommandMetric::table() {
  static const OptionTable<CommandMetric> table{
      {{"better", &CommandMetric::better, trial::better_direction(), "The better direction.",
        KeyRule::kRequired},
       {"range", &CommandMetric::range, trial::metric_range(),
        "All values that it can have; a trial with another one has failed. Unbounded unless given."},
       {"unit", &CommandMetric::unit, text("a word"), "Its unit, for people."},
       {"when", when_measured(),
        "The trials that have it: every one, or full trainings alone. `before`: every one, and its program is "
        "asked before the training, which a broken constraint saves."},
       {"exact", &CommandMetric::is_exact,
        "Whether a program that is asked before has the same answer for the same trial, so that the run may be "
        "deterministic."},
       {"run", &CommandMetric::run, argument_vector(),
        "A program and its arguments, with placeholders, that measures it after the training and reports it "
        "(metrics.md)."},
       {"timeout", &CommandMetric::timeout_s, or_keyword("none", duration(above(0))),
        "How long that program may take; then the trial has failed.", KeyRule::kMayChange},
       {"at_once", &CommandMetric::at_once,
        if_given(integer<std::uint32_t>(at_least(1).at_most(kMostAtOnce))),
        "How many measurements of it may run at a time, over all ranks and hosts; any number unless given.",
        KeyRule::kMayChange},
       {"repeats", &CommandMetric::measurements,
        integer<std::uint32_t>(at_least(1).at_most(kMostMeasurements)),
        "How often it is measured in a trial. The median counts; the least and the largest value are in the "
        "learning curve."},
       {"limits", &CommandMetric::limits, "What a measurement may use; no limit unless given.",
        KeyRule::kMayChange}},
      check_metric};
  return table;
}

std::vector<trial::Metric> descriptions_of(const std::vector<CommandMetric>& metrics, MetricSource source) {
  std::vector<trial::Metric> descriptions;
  for (const CommandMetric& each : metrics) {
    if (each.source() != source) continue;
    trial::Metric& metric = descriptions.emplace_back(each);
    metric.has_course = each.is_reported() && each.when == trial::Metric::When::kEveryTrial;
  }
  return descriptions;
}

CommandMetric read_command_metric(const ConfigNode& map, const ConfigNode::Entry& entry) {
  if (trial::is_given(entry)) {
    CommandMetric metric{{.name = entry.key}};
    const OptionTable<trial::GivenMetric>& table = trial::GivenMetric::table();
    metric.given = table.to_config(trial::read_described(map, entry, table));
    return metric;
  }
  return trial::read_described(map, entry, CommandMetric::table());
}

OptionKind<std::vector<CommandMetric>> metrics_by_name() {
  const auto variants =
      ConfigNode::make_list({CommandMetric::table().schema(), trial::GivenMetric::table().schema()}, {});
  auto kind = trial::described_by_name<CommandMetric>(
      "metrics by name, e.g. {accuracy: {better: higher, range: [0, 1]}}",
      ConfigNode::make_map({{"anyOf", variants, {}}}, {}),
      {{"NAME", std::make_shared<const OptionTable<CommandMetric>>(CommandMetric::table())},
       {"GIVEN", std::make_shared<const OptionTable<trial::GivenMetric>>(trial::GivenMetric::table())}},
      read_command_metric, complete_section);
  kind.read = [read = std::move(kind.read)](const ConfigNode& node, std::vector<CommandMetric>& metrics) {
    return read(node, metrics) && !metrics.empty();
  };
  kind.identity = [](const ConfigNode& written) {
    std::vector<ConfigNode::Entry> entries = written.entries();
    for (ConfigNode::Entry& entry : entries) {
      if (!trial::is_given(entry)) entry.value = CommandMetric::table().identity(entry.value);
    }
    return ConfigNode::make_map(std::move(entries), written.position());
  };
  return kind;
}

}  // namespace skyline::evaluate

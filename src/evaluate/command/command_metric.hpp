#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/trial/metric.hpp"

#include "trial/given_metric.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// The limits of all processes of one attempt together, except open_files, which is one of each process.
struct CommandLimits {
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> processes = {};
  std::optional<std::uint64_t> open_files = {};
  static const OptionTable<CommandLimits>& table();
};

/// The origin of a metric's values: the trainer, a program that measures it after the training, or an
/// expression, by which it is known before.
enum class MetricSource { kTrainer, kProgram, kExpression };

/// A metric that a user describes.
struct CommandMetric : trial::Metric {
  std::vector<std::string> run = {};      // program and arguments that measure it; empty if the trainer does
  std::optional<double> timeout_s = 600;  // limit of one measurement
  std::optional<std::uint32_t> at_once = {};  // most measurements of it at a time, over the whole run
  std::uint32_t measurements = 1;             // measurements per trial, whose median counts
  CommandLimits limits = {};
  bool is_exact = false;  // whether a program that is asked before has the same answer for the same trial
  ConfigNode given = {};  // complete section of a metric that an expression gives (trial::given_metrics)
  MetricSource source() const {
    if (!given.is_null()) return MetricSource::kExpression;
    return run.empty() ? MetricSource::kTrainer : MetricSource::kProgram;
  }
  bool is_reported() const { return source() == MetricSource::kTrainer; }
  bool is_measured() const { return source() == MetricSource::kProgram; }
  static const OptionTable<CommandMetric>& table();
};

/// Returns the descriptions of the metrics of one origin, in their order.
std::vector<trial::Metric> descriptions_of(const std::vector<CommandMetric>& metrics, MetricSource source);

/// Reads the entry `accuracy: {better: higher}` or `params: {is: EXPRESSION}` of a map. @throws UserError
CommandMetric read_command_metric(const ConfigNode& map, const ConfigNode::Entry& entry);
/// Reads `{accuracy: {better: higher}, phone_ms: {run: [./measure.sh], better: lower}}`.
OptionKind<std::vector<CommandMetric>> metrics_by_name();

}  // namespace skyline::evaluate

#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/trial/metric.hpp"

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

/// A metric of programs of the user: one that their trainer reports, or one that a program of its own
/// measures after the training.
struct CommandMetric : trial::Metric {
  std::vector<std::string> run = {};      // program and arguments that measure it; empty if the trainer does
  std::optional<double> timeout_s = 600;  // limit of one measurement
  std::optional<std::uint32_t> at_once = {};  // most measurements of it at a time, over the whole run
  std::uint32_t measurements = 1;             // measurements per trial, whose median counts
  CommandLimits limits = {};
  bool is_measured() const { return !run.empty(); }
  static const OptionTable<CommandMetric>& table();
};

/// Returns the descriptions of the metrics that the trainer reports, or of those that have a program of their
/// own, in their order.
std::vector<trial::Metric> descriptions_of(const std::vector<CommandMetric>& metrics, bool measured);

/// Reads the entry `accuracy: {better: higher}` of a map. @throws UserError
CommandMetric read_command_metric(const ConfigNode& map, const ConfigNode::Entry& entry);
/// Reads `{accuracy: {better: higher}, phone_ms: {run: [./measure.sh], better: lower}}`.
OptionKind<std::vector<CommandMetric>> metrics_by_name();

}  // namespace skyline::evaluate

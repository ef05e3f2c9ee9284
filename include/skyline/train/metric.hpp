#pragma once

#include "skyline/train/loss.hpp"
#include "skyline/trial/metric.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::train {

/// The target of a sample in the data set.
struct Target {
  std::int32_t class_index = 0;        // set if targets are classes
  std::span<const float> values = {};  // [outputs], set if targets are labels (0 or 1) or numbers
};

/// A number that measures how well a network does on a set of samples. Made for each set; one thread uses it.
class Metric {
 public:
  virtual ~Metric() = default;
  /// Takes the next sample. Every member of a group gets all samples, in the order of the set.
  /// @param outputs  [outputs], output of the network's last layer
  virtual void add(std::span<const float> outputs, const Target& target) = 0;
  /// Returns the metric of the samples so far, at least one. Returns NaN if it is undefined for these
  /// samples, whatever the outputs are (e.g. AUC with one class).
  virtual double value() const = 0;
};

/// A metric that a configuration can name: `training: {metrics: [NAME, {NAME: {KEY: VALUE}}]}`. Objectives
/// know it as validation_NAME.
struct MetricKind {
  using Better = trial::Better;
  std::string name;
  std::string meaning;                     // one sentence for the docs
  std::vector<store::TargetKind> targets;  // kinds of targets that it accepts
  Better better = Better::kHigher;
  trial::MetricRange range;  // range of value(); a trial with a value outside of it has failed
  std::shared_ptr<const KeyTable> keys;
  /// @param section  already checked against `keys`
  std::function<std::unique_ptr<Metric>(const ConfigNode& section, std::size_t outputs)> make;
  /// Whether the value is the share of the samples that are right, so that their number tells how exact it
  /// is.
  bool is_share_of_samples = false;
  /// Whether it takes numbers in the unit of their source instead of the scale in which networks learn them:
  /// outputs and targets less one constant per output, because float32 could not tell large ones apart.
  bool is_in_unit = false;
};

/// Describes a metric that is constructed from its options and the number of outputs.
/// @param range  the values that it can have; an objective whose metric has two finite ends has a hypervolume
/// without any constraint
template <typename AnyMetric, typename Options = NoOptions>
MetricKind make_metric(const std::string& name, const std::string& meaning,
                       std::vector<store::TargetKind> targets, trial::Better better,
                       const trial::MetricRange& range = {},
                       const OptionTable<Options>& table = Options::table()) {
  const auto keys = std::make_shared<const OptionTable<Options>>(table);
  return {name,
          meaning,
          std::move(targets),
          better,
          range,
          keys,
          [keys](const ConfigNode& section, std::size_t outputs) {
            return std::make_unique<AnyMetric>(keys->parse(section), outputs);
          },
          false,
          false};
}

/// Adds a metric; call it before run_program. @throws InternalError for a second one of the same name
void register_metric(const MetricKind& kind);
/// Returns all names in alphabetical order.
std::vector<std::string> metric_names();

}  // namespace skyline::train

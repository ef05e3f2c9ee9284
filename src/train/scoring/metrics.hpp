#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/train/metric.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::train {

/// A registered loss or metric with its section, which is complete.
struct Choice {
  std::string name;
  ConfigNode section = {};
};

/// Returns the metric of this name, or nullptr.
const MetricKind* find_metric(std::string_view name);
/// Returns the metric of a configuration that names none.
std::string_view default_metric(store::TargetKind targets);

/// The score of held-out samples. NaN means not measured.
struct Score {
  std::vector<double> metrics = {};  // in the order of the configuration
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// Adds up the batches of a set, in their order, to its score. One thread uses it.
class Scorer {
 public:
  /// @param samples  samples of the set; like `metrics` it must outlive the scorer
  Scorer(std::span<const Choice> metrics, const store::SampleView& samples, std::size_t outputs);
  /// @param indices   indices in the set of the batch's samples
  /// @param loss_sum  sum over the batch
  /// @param outputs   [samples of the batch, outputs]
  void add(std::span<const std::int64_t> indices, double loss_sum, std::span<const float> outputs);
  Score score() const;

 private:
  Target target_of(std::int64_t index);

  const store::SampleView& samples_;
  std::size_t outputs_;
  std::vector<std::unique_ptr<Metric>> metrics_;
  std::vector<float> labels_;  // targets of a sample
  double loss_sum_ = 0;
  std::size_t count_ = 0;
};

/// The metrics of Skyline itself.
std::vector<MetricKind> metrics_of_classes();
std::vector<MetricKind> metrics_of_values();

}  // namespace skyline::train

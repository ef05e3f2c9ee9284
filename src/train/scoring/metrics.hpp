#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/train/metric.hpp"

#include "store/arrays/preparation.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::train {

/// A registered loss or metric with its section, which is complete.
struct LossOrMetric {
  std::string name;
  ConfigNode section = {};
};

/// Returns the metric of this name, or nullptr.
const MetricKind* find_metric(std::string_view name);
/// Returns the metrics of a configuration that names none.
std::vector<std::string> default_metrics(store::TargetKind targets);
/// Returns how the numbers of a data set are stored, one per output; empty for other targets and for numbers
/// that are stored as they are.
std::vector<store::TargetColumn> number_columns(const store::Dataset& dataset);

/// The score of held-out samples. NaN means not measured.
struct Score {
  std::vector<double> metrics = {};  // in the order of the configuration
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// Adds up the batches of a set, in their order, to its score. One thread uses it.
class Scorer {
 public:
  /// @param samples  samples of the set; like `metrics` it must outlive the scorer
  /// @param columns  number_columns() of the data set, which must outlive the scorer
  Scorer(std::span<const LossOrMetric> metrics, const store::SampleView& samples, std::size_t outputs,
         std::span<const store::TargetColumn> columns = {});
  /// @param indices   indices in the set of the batch's samples
  /// @param loss_sum  sum over the batch
  /// @param outputs   [samples of the batch, outputs]
  void add(std::span<const std::int64_t> indices, double loss_sum, std::span<const float> outputs);
  Score score() const;

 private:
  Target target_of(std::int64_t index);

  struct Used {
    std::unique_ptr<Metric> metric;
    bool is_in_unit = false;
  };

  const store::SampleView& samples_;
  std::size_t outputs_;
  std::span<const store::TargetColumn> columns_;
  std::vector<Used> metrics_;
  std::vector<float> labels_;        // targets of a sample
  std::vector<float> unit_outputs_;  // outputs and targets of a sample in the unit of their source
  std::vector<float> unit_targets_;
  double loss_sum_ = 0;
  std::size_t count_ = 0;
};

/// The metrics of Skyline itself.
std::vector<MetricKind> metrics_of_classes();
std::vector<MetricKind> metrics_of_values();

}  // namespace skyline::train

#include "train/scoring/metrics.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skyline::train {
namespace {

using Metrics = Registry<MetricKind>;

Metrics& metrics_known() {
  static Metrics registry("metric", [](Metrics& built_in) {
    for (const auto& kinds : {metrics_of_classes(), metrics_of_values()}) {
      for (const MetricKind& kind : kinds) built_in.add(kind.name, kind);
    }
  });
  return registry;
}

/// Brings the values of a sample to the unit of their source, less what stands for 0. A large output may have
/// no finite exponential, which must not hide what the other samples have.
void convert(std::span<const store::TargetColumn> columns, std::span<const float> values,
             std::vector<float>& converted) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  converted.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double number = columns[i].number(static_cast<double>(values[i])) - columns[i].number(0);
    converted.push_back(
        static_cast<float>(std::isnan(number) ? number : std::clamp(number, -kLargest, kLargest)));
  }
}

}  // namespace

void register_metric(const MetricKind& kind) {
  metrics_known().add(kind.name, kind);
}

std::vector<std::string> metric_names() {
  return metrics_known().names();
}

const MetricKind* find_metric(std::string_view name) {
  return metrics_known().find(name);
}

std::vector<std::string> default_metrics(store::TargetKind targets) {
  switch (targets) {
    case store::TargetKind::kClasses:
      return {"accuracy"};
    case store::TargetKind::kLabels:
      return {"auc"};
    case store::TargetKind::kNumbers:
      return {"mse", "r2", "rmse"};
  }
  throw InternalError("unknown targets");
}

std::vector<store::TargetColumn> number_columns(const store::Dataset& dataset) {
  const bool are_numbers = dataset.train().target_kind() == store::TargetKind::kNumbers;
  if (!are_numbers || dataset.preparation().empty()) return {};
  std::vector<store::TargetColumn> columns = store::read_preparation(dataset.preparation()).targets;
  const std::size_t outputs = dataset.class_names().size();
  if (columns.empty() || columns.size() == outputs) return columns;
  throw UserError("the data set's preparation: expected " + std::to_string(outputs) + " targets, got " +
                  std::to_string(columns.size()));
}

Scorer::Scorer(std::span<const LossOrMetric> metrics, const store::SampleView& samples, std::size_t outputs,
               std::span<const store::TargetColumn> columns)
    : samples_(samples), outputs_(outputs), columns_(columns), labels_(outputs) {
  for (const LossOrMetric& metric : metrics) {
    const MetricKind& kind = *find_metric(metric.name);
    metrics_.push_back({kind.make(metric.section, outputs), kind.is_in_unit && !columns.empty()});
  }
}

/// Returns a target that is valid until the next call.
Target Scorer::target_of(std::int64_t index) {
  const auto sample = static_cast<std::size_t>(index);
  switch (samples_.target_kind()) {
    case store::TargetKind::kClasses:
      return {.class_index = samples_.classes()[sample]};
    case store::TargetKind::kLabels: {
      const auto labels = std::get<1>(samples_.targets).subspan(sample * outputs_, outputs_);
      labels_.assign(labels.begin(), labels.end());
      return {.values = labels_};
    }
    case store::TargetKind::kNumbers:
      return {.values = std::get<2>(samples_.targets).subspan(sample * outputs_, outputs_)};
  }
  throw InternalError("unknown targets");
}

void Scorer::add(std::span<const std::int64_t> indices, double loss_sum, std::span<const float> outputs) {
  loss_sum_ += loss_sum;
  count_ += indices.size();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Target target = target_of(indices[i]);
    const std::span<const float> said = outputs.subspan(i * outputs_, outputs_);
    bool is_converted = false;
    for (const Used& used : metrics_) {
      if (!used.is_in_unit) {
        used.metric->add(said, target);
        continue;
      }
      if (!std::exchange(is_converted, true)) {
        convert(columns_, said, unit_outputs_);
        convert(columns_, target.values, unit_targets_);
      }
      used.metric->add(unit_outputs_, {.values = unit_targets_});
    }
  }
}

Score Scorer::score() const {
  Score score{.loss = loss_sum_ / static_cast<double>(count_)};
  for (const Used& used : metrics_) score.metrics.push_back(used.metric->value());
  return score;
}

}  // namespace skyline::train

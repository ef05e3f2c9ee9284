#include "train/scoring/metrics.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"

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

std::string_view default_metric(store::TargetKind targets) {
  switch (targets) {
    case store::TargetKind::kClasses:
      return "accuracy";
    case store::TargetKind::kLabels:
      return "auc";
    case store::TargetKind::kNumbers:
      return "mse";
  }
  throw InternalError("unknown targets");
}

Scorer::Scorer(std::span<const Choice> metrics, const store::SampleView& samples, std::size_t outputs)
    : samples_(samples), outputs_(outputs), labels_(outputs) {
  for (const Choice& metric : metrics) {
    metrics_.push_back(find_metric(metric.name)->make(metric.section, outputs));
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
    for (const auto& metric : metrics_) metric->add(outputs.subspan(i * outputs_, outputs_), target);
  }
}

Score Scorer::score() const {
  Score score{.loss = loss_sum_ / static_cast<double>(count_)};
  for (const auto& metric : metrics_) score.metrics.push_back(metric->value());
  return score;
}

}  // namespace skyline::train

#include "train/scoring/scored_outputs.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace skyline::train {

std::vector<LossOrMetric> named_metrics(const std::vector<std::string>& names, store::TargetKind targets) {
  std::vector<LossOrMetric> metrics;
  for (const std::string& name : names.empty() ? default_metrics(targets) : names) {
    const MetricKind* kind = find_metric(name);
    if (kind == nullptr)
      throw UserError("unknown metric `" + name + "`, " + suggestion(name, metric_names()));
    if (std::ranges::find(kind->targets, targets) == kind->targets.end()) {
      throw UserError("the metric `" + name + "` is not one of " + std::string(to_text(targets)) +
                      ", which the data set's targets are");
    }
    metrics.push_back({name, kind->keys->complete(ConfigNode())});
  }
  return metrics;
}

std::vector<std::pair<std::string, double>> score_outputs(const std::vector<LossOrMetric>& metrics,
                                                          const store::Dataset& dataset,
                                                          std::span<const float> outputs) {
  const std::vector<store::TargetColumn> columns = number_columns(dataset);
  std::vector<float> stored(outputs.begin(), outputs.end());
  for (std::size_t i = 0; !columns.empty() && i < stored.size(); ++i) {
    stored[i] = static_cast<float>(columns[i % columns.size()].stored(static_cast<double>(stored[i])));
  }
  Scorer scorer(metrics, dataset.test(), dataset.class_names().size(), columns);
  std::vector<std::int64_t> indices(dataset.test().count);
  std::iota(indices.begin(), indices.end(), 0);
  scorer.add(indices, 0, stored);
  const Score score = scorer.score();
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < metrics.size(); ++i) values.emplace_back(metrics[i].name, score.metrics[i]);
  return values;
}

}  // namespace skyline::train

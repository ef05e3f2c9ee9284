#include "train/options/baselines.hpp"

#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

namespace skyline::train {
namespace {

/// Returns the sum of each output's targets over the samples to train on; of classes their counts.
std::vector<double> target_sums(const store::SampleView& samples, std::span<const std::int64_t> indices,
                                std::size_t outputs) {
  std::vector<double> sums(outputs);
  for (const std::int64_t index : indices) {
    const auto sample = static_cast<std::size_t>(index);
    if (samples.target_kind() == store::TargetKind::kClasses) {
      ++sums[static_cast<std::size_t>(samples.classes()[sample])];
      continue;
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::size_t place = sample * outputs + i;
      sums[i] += samples.target_kind() == store::TargetKind::kLabels
                     ? static_cast<double>(std::get<1>(samples.targets)[place])
                     : static_cast<double>(std::get<2>(samples.targets)[place]);
    }
  }
  return sums;
}

/// Returns the outputs of a network that always says the same: log odds of classes and labels, or numbers.
std::vector<float> constant_outputs(const store::SampleView& samples, std::span<const std::int64_t> indices,
                                    std::size_t outputs) {
  constexpr double kUnseen = 0.5;  // count of what no sample has
  const auto count = static_cast<double>(indices.size());
  std::vector<float> values;
  for (const double sum : target_sums(samples, indices, outputs)) {
    const double odds = (sum + kUnseen) / (count - sum + kUnseen);
    const bool is_number = samples.target_kind() == store::TargetKind::kNumbers;
    values.push_back(static_cast<float>(is_number ? sum / count : std::log(odds)));
  }
  return values;
}

std::vector<double> scores_of(const TrainingOptions& options, const store::SampleView& samples,
                              std::span<const std::int64_t> indices, std::span<const float> constant,
                              std::span<const store::TargetColumn> columns) {
  constexpr std::size_t kAtOnce = 1024;  // samples
  std::vector<float> outputs;
  for (std::size_t i = 0; i < std::min(kAtOnce, indices.size()); ++i)
    outputs.insert(outputs.end(), constant.begin(), constant.end());
  Scorer scorer(options.metrics, samples, constant.size(), columns);
  for (std::size_t begin = 0; begin < indices.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, indices.size() - begin);
    scorer.add(indices.subspan(begin, count), 0, std::span(outputs).first(count * constant.size()));
  }
  return scorer.score().metrics;
}

}  // namespace

std::vector<trial::Baseline> baselines_of(const TrainingOptions& given, const store::Dataset& dataset,
                                          const store::SplitIndices& split) {
  const TrainingOptions options = with_defaults(given, dataset.train().target_kind());
  const std::vector<float> constant =
      constant_outputs(dataset.train(), split.train, dataset.class_names().size());
  const std::vector<store::TargetColumn> columns = number_columns(dataset);
  std::vector<std::int64_t> tested(dataset.test().count);
  std::iota(tested.begin(), tested.end(), 0);
  std::vector<trial::Baseline> baselines;
  // The labels of one sample are no independent answers.
  const auto is_share = [&](const MetricKind& kind) {
    return kind.is_share_of_samples && dataset.train().target_kind() != store::TargetKind::kLabels;
  };
  const auto add = [&](const std::string& part, const store::SampleView& samples,
                       const std::vector<std::int64_t>& indices, std::size_t scored) {
    if (indices.empty()) return;
    const std::vector<double> values = scores_of(options, samples, indices, constant, columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const MetricKind& kind = *find_metric(options.metrics[i].name);
      trial::Baseline& baseline = baselines.emplace_back(trial::Baseline{part + kind.name, {}, {}, {}});
      if (is_share(kind)) baseline.samples = indices.size();
      if (is_share(kind) && scored > 0) baseline.scored = scored;
      if (std::isfinite(values[i])) baseline.constant = values[i];
    }
  };
  add("validation_", split.stored ? dataset.validation() : dataset.train(), split.validation,
      split.scored.size());
  add("test_", dataset.test(), tested, 0);
  const std::size_t count = options.int8 == Int8Trials::kNone ? 0 : baselines.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!baselines[i].samples) continue;  // the constant is that of the float network
    baselines.push_back({kInt8Prefix + baselines[i].metric, baselines[i].samples, baselines[i].scored, {}});
  }
  return baselines;
}

}  // namespace skyline::train

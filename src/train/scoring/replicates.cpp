#include "train/scoring/replicates.hpp"

#include "skyline/core/random.hpp"

#include <algorithm>

namespace skyline::train {
namespace {

constexpr std::size_t kFewest = 200;
constexpr std::size_t kMost = 1000;
constexpr std::size_t kMostDraws = 10'000'000;  // in all, where kFewest need no more

}  // namespace

std::vector<std::vector<double>> replicates_of(std::span<const LossOrMetric> metrics,
                                               const store::SampleView& samples,
                                               std::span<const float> outputs,
                                               std::span<const store::TargetColumn> columns) {
  const std::size_t each = outputs.size() / samples.count;
  const std::size_t count = std::clamp(kMostDraws / samples.count, kFewest, kMost);
  std::vector<std::vector<double>> replicates(metrics.size());
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(derive_seed(0, "bootstrap", {i}));
    Scorer scorer(metrics, samples, each, columns);
    for (std::size_t drawn = 0; drawn < samples.count; ++drawn) {
      const auto index = static_cast<std::int64_t>(random.below(samples.count));
      scorer.add({&index, 1}, 0, outputs.subspan(static_cast<std::size_t>(index) * each, each));
    }
    const std::vector<double> values = scorer.score().metrics;
    for (std::size_t metric = 0; metric < metrics.size(); ++metric)
      replicates[metric].push_back(values[metric]);
  }
  return replicates;
}

}  // namespace skyline::train

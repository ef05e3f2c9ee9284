#include "train/loop/latency.hpp"

#include "core/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::train {

std::optional<PassTimes> time_passes(Learner& learner, const TrainingSetup& setup,
                                     const std::function<bool()>& goes_on) {
  const LatencyOptions& options = setup.options.latency;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(options.batch));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    indices[i] = setup.split.train[i % setup.split.train.size()];
  }
  learner.set_latency_batch(indices);
  for (int i = 0; i < options.warmup; ++i) {
    if (!goes_on()) return std::nullopt;
    learner.run_latency_batch();
  }
  std::vector<double> times_ms;
  for (int i = 0; i < options.repeats; ++i) {
    if (!goes_on()) return std::nullopt;
    const auto start = std::chrono::steady_clock::now();
    learner.run_latency_batch();
    times_ms.push_back(1e3 * seconds_since(start));
  }
  std::ranges::sort(times_ms);
  const std::size_t middle = times_ms.size() / 2;
  const double median_ms =
      times_ms.size() % 2 == 1 ? times_ms[middle] : (times_ms[middle - 1] + times_ms[middle]) / 2;
  return PassTimes{times_ms.front(), median_ms};
}

}  // namespace skyline::train

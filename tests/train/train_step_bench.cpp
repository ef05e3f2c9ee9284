/// Measures training steps for scripts/bench/train_step. Reads lines `layers kernel width steps` and answers
/// each with `median_ms min_ms` of the step: gathering the batch, forward, backward, Adam. One thread.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/store/dataset.hpp"

#include "support/cpu_seconds.hpp"
#include "train/gather_batch.hpp"
#include "train/host_step.hpp"
#include "train/train_fixtures.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include <ATen/Parallel.h>

namespace skyline::train {
namespace {

constexpr std::size_t kBatch = 16;
constexpr int kWarmup = 3;

std::vector<double> time_steps(const store::Dataset& data, const space::Network& network, int steps) {
  OptimizerOptions options;
  options.learning_rate = 1e-4;
  const auto step = test::make_step(network, options, 1);
  const ValueScaling scaling(data, Normalization::kUnit);
  const store::SplitIndices split = test::split_in_two(data.train().count, 0);
  const std::vector<std::int64_t> order = epoch_order(split.train, 1, 0);
  std::vector<double> times_ms;
  for (int i = -kWarmup; i < steps; ++i) {
    const std::size_t first = static_cast<std::size_t>(i + kWarmup) * kBatch % (order.size() - kBatch);
    const double start = testing::process_cpu_seconds();
    const test::Batch batch = test::gather_batch(data, scaling, std::span(order).subspan(first, kBatch));
    step->step(batch.images, batch.labels);
    const double end = testing::process_cpu_seconds();
    if (i >= 0) {
      times_ms.push_back(1e3 * (end - start));
    }
  }
  std::sort(times_ms.begin(), times_ms.end());
  return times_ms;
}

void answer_requests(const store::Dataset& data) {
  int layers = 0;
  std::int64_t kernel = 0;
  std::int64_t width = 0;
  int steps = 0;
  while (std::cin >> layers >> kernel >> width >> steps) {
    const auto times_ms =
        time_steps(data, test::conv_network(data.shape(), layers, kernel, width, 10), steps);
    std::cout << times_ms[times_ms.size() / 2] << ' ' << times_ms.front() << std::endl;
  }
}

}  // namespace
}  // namespace skyline::train

int main(int argc, char** argv) {
  at::set_num_threads(1);
  try {
    if (argc > 1) {
      skyline::train::answer_requests(*skyline::store::Dataset::open(argv[1], false));
    } else {
      skyline::train::answer_requests(skyline::train::test::BarImages({1, 28, 28}, 10, 4096, 16));
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

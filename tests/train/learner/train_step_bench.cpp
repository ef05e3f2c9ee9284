/// Measures training steps for scripts/bench/train_step: `train_step_bench fp32|bf16 [data.h5]`. Reads lines
/// `layers kernel width steps` and answers each with `median_ms min_ms` of the step: gathering the batch,
/// forward, backward, Adam. One thread.
#include "skyline/core/error.hpp"

#include "support/cpu_seconds.hpp"
#include "train/fixtures/gather_batch.hpp"
#include "train/fixtures/host_step.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <cstdlib>
#include <iostream>

#include <ATen/Parallel.h>

namespace skyline::train {
namespace {

constexpr std::size_t kBatch = 16;
constexpr int kWarmup = 3;

std::vector<double> time_steps(const store::Dataset& data, const space::Network& network, int steps,
                               Precision precision) {
  OptimizerOptions options;
  options.learning_rate = 1e-4;
  test::HostStep step(network, options, 1, nullptr, {}, std::nullopt, Kernels::kOwn, precision);
  const ValueScaling scaling(data, Normalization::kUnit);
  const store::SplitIndices split = test::split_in_two(data.train().count, 0);
  const std::vector<std::int64_t> order = epoch_order(split.train, 1, 0);
  std::vector<double> times_ms;
  for (int i = -kWarmup; i < steps; ++i) {
    const std::size_t first = static_cast<std::size_t>(i + kWarmup) * kBatch % (order.size() - kBatch);
    const double start = testing::process_cpu_seconds();
    const test::Batch batch = test::gather_batch(data, scaling, std::span(order).subspan(first, kBatch));
    step.step(batch.images, batch.labels);
    const double end = testing::process_cpu_seconds();
    if (i >= 0) times_ms.push_back(1e3 * (end - start));
  }
  std::sort(times_ms.begin(), times_ms.end());
  return times_ms;
}

void answer_requests(const store::Dataset& data, Precision precision) {
  int layers = 0;
  std::int64_t kernel = 0;
  std::int64_t width = 0;
  int steps = 0;
  while (std::cin >> layers >> kernel >> width >> steps) {
    const auto times_ms =
        time_steps(data, test::conv_network(data.shape(), layers, kernel, width, 10), steps, precision);
    std::cout << times_ms[times_ms.size() / 2] << ' ' << times_ms.front() << std::endl;
  }
}

}  // namespace
}  // namespace skyline::train

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || (arguments.front() != "fp32" && arguments.front() != "bf16")) {
    std::cerr << "usage: train_step_bench fp32|bf16 [data.h5]\n";
    return 2;
  }
  using skyline::train::Precision;
  const Precision precision = arguments.front() == "bf16" ? Precision::kBf16 : Precision::kFp32;
  try {
    if (arguments.size() > 1) {
      skyline::train::answer_requests(*skyline::store::Dataset::open(arguments[1], false), precision);
    } else {
      skyline::train::answer_requests(skyline::train::test::BarImages({1, 28, 28}, 10, 4096, 16), precision);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

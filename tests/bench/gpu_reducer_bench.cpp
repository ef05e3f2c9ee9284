/// Measures what it costs to train as a group before there is anybody to add up with: a group of one member,
/// whose gradients go through the device's reducer, against none.
#include "bench/gpu_bench.hpp"
#include "support/local_groups.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <algorithm>

namespace skyline::train::bench {
namespace {

constexpr int kRounds = 3;

nlohmann::json measure_width(const GpuBench& bench, trial::Evaluator& evaluator, std::int64_t width) {
  const trial::Trial trial =
      test::make_trial(test::conv_network({1, 28, 28}, 2, 3, width, 10), bench.host ? 0.1 : 2, 1);
  const auto alone = testing::make_local_groups(1);
  double plain = 0;  // steps a second, the best of the rounds
  double reduced = 0;
  for (int round = 0; round < kRounds; ++round) {
    BenchContext without;
    plain = std::max(plain, train(evaluator, trial, without).steps_per_s());
    BenchContext with;
    with.together = alone.front().get();
    reduced = std::max(reduced, train(evaluator, trial, with).steps_per_s());
  }
  return {{"width", width},
          {"steps_per_s", plain},
          {"reduced_steps_per_s", reduced},
          {"reduced_over_plain", reduced / plain}};
}

nlohmann::json measure(const GpuBench& bench) {
  return measure_widths(bench, "reducer", {16, 64}, 4, measure_width);
}

}  // namespace
}  // namespace skyline::train::bench

int main(int argc, char** argv) {
  return skyline::train::bench::run_gpu_bench(argc, argv, skyline::train::bench::measure);
}

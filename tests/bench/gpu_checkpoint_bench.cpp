/// Measures what a checkpoint costs a slot that trains on a device: the copy of its state to the host. The
/// rest, writing it, is the storage thread's (scripts/bench/checkpoint).
#include "bench/gpu_bench.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <algorithm>
#include <vector>

namespace skyline::train::bench {
namespace {

constexpr double kDefaultInterval_s = 60;  // checkpoint.interval

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Linear layers have the most state for the least work: the worst case.
space::Network network(std::int64_t width) {
  return test::NetworkBuilder({1, 28, 28})
      .flatten()
      .linear(width)
      .relu()
      .linear(width)
      .relu()
      .linear(10)
      .build();
}

nlohmann::json measure_width(const GpuBench& bench, trial::Evaluator& evaluator, std::int64_t width) {
  const trial::Trial trial = test::make_trial(network(width), bench.host ? 1 : 2, 1);
  BenchContext warm_up;
  train(evaluator, trial, warm_up);
  std::vector<double> plain_s;
  std::vector<double> save_s;
  for (int round = 0; round < 3; ++round) {
    BenchContext plain;
    plain_s.push_back(train(evaluator, trial, plain).train_s);
    BenchContext saving(bench.host ? 5 : 200);
    const double total_s = train(evaluator, trial, saving).train_s;
    save_s.push_back((total_s - plain_s.back()) / static_cast<double>(saving.saves));
  }
  std::int64_t parameters = 0;
  for (const space::Layer& layer : trial.architecture().network().layers) {
    for (const space::TensorSpec& tensor : layer.tensors) parameters += tensor.elements();
  }
  return {{"parameters", parameters},
          {"train_s", median(plain_s)},
          {"save_ms", 1e3 * median(save_s)},
          {"overhead_at_default_interval", median(save_s) / kDefaultInterval_s}};
}

nlohmann::json measure(const GpuBench& bench) {
  return measure_widths(bench, "checkpoint", {12, 110, 680, 2790}, 12, measure_width);
}

}  // namespace
}  // namespace skyline::train::bench

int main(int argc, char** argv) {
  return skyline::train::bench::run_gpu_bench(argc, argv, skyline::train::bench::measure);
}

/// Measures a training step on a device by size of network and precision, and what a trial costs beside its
/// steps. scripts/bench/gpu_step_torch.py times the same steps in PyTorch.
#include "bench/gpu_bench.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <array>
#include <iostream>
#include <utility>

namespace skyline::train::bench {
namespace {

struct Work {
  std::int64_t side;  // side of the images
  int layers;         // layers of convolution, batch norm and ReLU
  std::int64_t kernel;
  std::int64_t width;
  std::int64_t batch;
  std::int64_t steps;
};

/// From networks whose kernels the device hardly notices to those that fill it.
constexpr std::array kWork{Work{8, 3, 3, 16, 32, 1200},  Work{8, 6, 5, 32, 32, 1200},
                           Work{28, 2, 3, 16, 64, 1200}, Work{28, 4, 3, 32, 64, 1200},
                           Work{28, 4, 3, 32, 256, 400}, Work{28, 8, 3, 64, 256, 160},
                           Work{28, 8, 5, 64, 64, 160},  Work{28, 6, 3, 128, 256, 120}};
constexpr std::size_t kSamples = 6'000;  // few, because making them takes longer than the steps
constexpr Work kHostWork{8, 1, 3, 8, 32, 40};
constexpr std::array kPrecisions{std::pair{Precision::kFp32, "fp32"}, std::pair{Precision::kTf32, "tf32"},
                                 std::pair{Precision::kBf16, "bf16"}};

struct Times {
  double train_s = 0;
  double setup_s = 0;
};

Times train_steps(trial::Evaluator& evaluator, const space::Network& network, double epochs) {
  BenchContext context;
  train(evaluator, test::make_trial(network, epochs, 1), context);
  return {context.times.train_s, context.times.setup_s};
}

/// Two lengths of training tell a step's time from what comes once.
nlohmann::json measure_steps(const GpuBench& bench, const Work& work, Precision precision) {
  TrainingOptions options;
  options.batch = work.batch;
  options.precision = precision;
  const auto evaluator = bench.evaluator(options, bench.accelerator);
  const space::Network network = test::conv_network({1, work.side, work.side}, work.layers,
                                                    static_cast<int>(work.kernel), work.width, 10);
  const double epochs =
      static_cast<double>(work.steps * work.batch) / static_cast<double>(bench.trained_on());
  const Times first = train_steps(*evaluator, network, epochs / 4);
  const Times brief = train_steps(*evaluator, network, epochs / 4);
  const Times whole = train_steps(*evaluator, network, epochs);
  const double step_s = (whole.train_s - brief.train_s) / (static_cast<double>(work.steps) * 3 / 4);
  return {{"step_us", 1e6 * step_s},
          {"begin_ms", 1e3 * (brief.train_s - step_s * static_cast<double>(work.steps) / 4)},
          {"setup_ms", 1e3 * brief.setup_s},
          {"first_setup_ms", 1e3 * first.setup_s}};
}

nlohmann::json measure(const GpuBench& given) {
  nlohmann::json networks = nlohmann::json::array();
  for (const Work& work : kWork) {
    GpuBench bench = given;
    const Work& done = given.host ? kHostWork : work;
    bench.data = std::make_shared<test::BarImages>(space::Shape{1, done.side, done.side}, 10, kSamples, 0);
    nlohmann::json entry = {{"side", done.side},
                            {"layers", done.layers},
                            {"kernel", done.kernel},
                            {"width", done.width},
                            {"batch", done.batch}};
    for (const auto& [precision, name] : kPrecisions) {
      if (given.host && precision == Precision::kTf32) continue;  // a precision of GPUs only
      entry[name] = measure_steps(bench, done, precision);
    }
    std::cerr << entry.dump() << std::endl;  // not to lose all if the whole takes too long
    networks.push_back(std::move(entry));
    if (given.host) break;
  }
  return {{"benchmark", "step"}, {"networks", std::move(networks)}};
}

}  // namespace
}  // namespace skyline::train::bench

int main(int argc, char** argv) {
  return skyline::train::bench::run_gpu_bench(argc, argv, skyline::train::bench::measure);
}

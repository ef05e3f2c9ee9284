/// Measures a training loop on a device in three ways, with the same network, data and batches: the loop of
/// LibTorch's C++ example for MNIST (data on the host, a batch copied at a time), ours kernel by kernel, and
/// ours with recorded steps. Given real MNIST also how soon it reaches 99.0 %.
#include "skyline/core/random.hpp"

#include "bench/gpu_bench.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <torch/data.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

namespace skyline::train::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBatch = 64;
constexpr double kLearningRate = 0.01;
constexpr double kMomentum = 0.5;
constexpr double kWanted = 0.99;
constexpr int kSeeds = 5;

/// The example's network, without its dropout of whole channels, with convolutions that keep the size.
space::Network example_network() {
  return test::NetworkBuilder({1, 28, 28})
      .conv2d(10, 5)
      .max_pool(2)
      .relu()
      .conv2d(20, 5)
      .max_pool(2)
      .relu()
      .flatten()
      .linear(50)
      .relu()
      .linear(10)
      .build();
}

struct StockNet : torch::nn::Module {
  StockNet()
      : conv1(register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 10, 5).padding(2)))),
        conv2(register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(10, 20, 5).padding(2)))),
        fc1(register_module("fc1", torch::nn::Linear(980, 50))),
        fc2(register_module("fc2", torch::nn::Linear(50, 10))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2->forward(x), 2));
    x = torch::relu(fc1->forward(x.view({-1, 980})));
    return torch::log_softmax(fc2->forward(x), 1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

/// The samples as the example's data set has them: float images in [0, 1] on the host.
class StockData : public torch::data::datasets::Dataset<StockData> {
 public:
  StockData(const store::Dataset& data, std::size_t first, std::size_t count) : count_(count) {
    const auto pixels = static_cast<std::int64_t>(data.shape().elements());
    const auto from = static_cast<std::int64_t>(first);
    const auto rows = static_cast<std::int64_t>(count);
    auto* const images = const_cast<std::uint8_t*>(data.train().pixels().data());  // only read
    auto* const labels = const_cast<std::int32_t*>(data.train().classes().data());
    images_ =
        torch::from_blob(images + from * pixels, {rows, 1, 28, 28}, torch::kByte).to(torch::kFloat) / 255;
    targets_ = torch::from_blob(labels + from, {rows}, torch::kInt).to(torch::kLong);
  }
  torch::data::Example<> get(std::size_t index) override {
    const auto row = static_cast<std::int64_t>(index);
    return {images_[row], targets_[row]};
  }
  torch::optional<std::size_t> size() const override { return count_; }

 private:
  std::size_t count_;
  torch::Tensor images_;
  torch::Tensor targets_;
};

double stock_accuracy(StockNet& model, const GpuBench& bench, const torch::Device& device) {
  const torch::NoGradGuard no_gradients;
  model.eval();
  auto held_out = StockData(*bench.data, bench.trained_on(), bench.held_out())
                      .map(torch::data::transforms::Normalize<>(bench.data->mean().front(),
                                                                bench.data->deviation().front()))
                      .map(torch::data::transforms::Stack<>());
  const auto loader = torch::data::make_data_loader(std::move(held_out), 1000);
  std::int64_t correct = 0;
  for (const auto& batch : *loader) {
    const torch::Tensor output = model.forward(batch.data.to(device));
    correct += output.argmax(1).eq(batch.target.to(device)).sum().item<std::int64_t>();
  }
  return static_cast<double>(correct) / static_cast<double>(bench.held_out());
}

/// The example's loop, a look at the loss each ten batches included.
TrialFigures train_stock(const GpuBench& bench, int epochs) {
  const torch::Device device(bench.device().target);
  torch::manual_seed(1);
  StockNet model;
  model.to(device);
  auto data = StockData(*bench.data, 0, bench.trained_on())
                  .map(torch::data::transforms::Normalize<>(bench.data->mean().front(),
                                                            bench.data->deviation().front()))
                  .map(torch::data::transforms::Stack<>());
  const auto loader =
      torch::data::make_data_loader<torch::data::samplers::RandomSampler>(std::move(data), kBatch);
  torch::optim::SGD optimizer(model.parameters(),
                              torch::optim::SGDOptions(kLearningRate).momentum(kMomentum));
  TrialFigures figures;
  double looked_at = 0;
  model.train();
  const Clock::time_point start = Clock::now();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& batch : *loader) {
      optimizer.zero_grad();
      const torch::Tensor loss =
          torch::nll_loss(model.forward(batch.data.to(device)), batch.target.to(device));
      loss.backward();
      optimizer.step();
      if (figures.steps++ % 10 == 0) looked_at += loss.item<double>();
    }
  }
  torch::Tensor last = model.fc2->weight.sum();
  looked_at += last.item<double>();  // waits for the device
  figures.train_s = std::chrono::duration<double>(Clock::now() - start).count();
  figures.accuracy = stock_accuracy(model, bench, device);
  if (!std::isfinite(looked_at)) throw std::runtime_error("the stock loop diverged");
  return figures;
}

TrialFigures train_ours(const GpuBench& bench, const std::shared_ptr<Accelerator>& on, int epochs) {
  TrainingOptions options;
  options.batch = kBatch;
  options.optimizer.kind = OptimizerOptions::Kind::kSgd;
  options.optimizer.learning_rate = kLearningRate;
  options.optimizer.momentum = kMomentum;
  const auto evaluator = bench.evaluator(options, on);
  BenchContext warm_up;
  train(*evaluator, test::make_trial(example_network(), bench.host ? 0.2 : 1, 2), warm_up);
  BenchContext context;
  return train(*evaluator, test::make_trial(example_network(), epochs, 1), context);
}

/// Training time of the smallest of a few budgets that gets there, the mean of the seeds; null: none does.
nlohmann::json time_to_accuracy(const GpuBench& bench) {
  TrainingOptions options;
  options.batch = 256;
  options.optimizer.learning_rate = 4e-3;
  const auto evaluator = bench.evaluator(options, bench.accelerator);
  const space::Network network = test::NetworkBuilder({1, 28, 28})
                                     .conv2d(16, 5)
                                     .batch_norm()
                                     .relu()
                                     .max_pool(2)
                                     .conv2d(32, 3)
                                     .batch_norm()
                                     .relu()
                                     .max_pool(2)
                                     .flatten()
                                     .linear(10)
                                     .build();
  double total_s = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    std::optional<double> reached_s;
    for (const double epochs : {1.0, 2.0, 3.0, 4.0, 6.0, 8.0}) {
      BenchContext context;
      const TrialFigures figures =
          train(*evaluator, test::make_trial(network, epochs, static_cast<std::uint64_t>(seed)), context);
      if (figures.accuracy < kWanted) continue;
      reached_s = figures.train_s;
      break;
    }
    if (!reached_s) return nullptr;
    total_s += *reached_s;
  }
  return total_s / kSeeds;
}

nlohmann::json measure(const GpuBench& bench) {
  const int epochs = bench.host ? 1 : 3;
  train_stock(bench, 1);  // before ours, whose precision and algorithms stay set for the process
  const TrialFigures stock = train_stock(bench, epochs);
  const TrialFigures graph = train_ours(bench, bench.accelerator, epochs);
  const TrialFigures eager = train_ours(bench, without_recording(bench.accelerator), epochs);
  nlohmann::json figures = {{"benchmark", "mnist"},
                            {"epochs", epochs},
                            {"stock_steps_per_s", stock.steps_per_s()},
                            {"eager_steps_per_s", eager.steps_per_s()},
                            {"graph_steps_per_s", graph.steps_per_s()},
                            {"graph_over_stock", graph.steps_per_s() / stock.steps_per_s()},
                            {"graph_over_eager", graph.steps_per_s() / eager.steps_per_s()},
                            {"stock_accuracy", stock.accuracy},
                            {"eager_accuracy", eager.accuracy},
                            {"graph_accuracy", graph.accuracy}};
  if (bench.real_data) figures["mean_s_to_99_percent"] = time_to_accuracy(bench);
  return figures;
}

}  // namespace
}  // namespace skyline::train::bench

int main(int argc, char** argv) {
  return skyline::train::bench::run_gpu_bench(argc, argv, skyline::train::bench::measure);
}

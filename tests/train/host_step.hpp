#pragma once

#include "train/device/host_accelerator.hpp"
#include "train/learner/training_step.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

namespace skyline::train::test {

/// Seeds of the layers that draw in a step.
inline at::Tensor seeds_of(const std::vector<std::string>& layers, std::uint64_t seed) {
  std::vector<std::int64_t> seeds;
  for (const std::string& layer : layers) {
    seeds.push_back(static_cast<std::int64_t>(derive_seed(seed, layer)));
  }
  return at::tensor(seeds, at::kLong);
}

/// Training steps on the CPU, with kernels of our own or as on a device, on samples that the test brings. The
/// network outlives it.
class HostStep {
 public:
  /// @param group  that takes the steps together; outlives the object
  HostStep(const space::Network& network, const OptimizerOptions& optimizer, std::uint64_t seed,
           trial::TrialGroup* group = nullptr, const GroupOptions& options = {},
           const std::optional<BucketSizes>& buckets = std::nullopt, Kernels kernels = Kernels::kOwn,
           Precision precision = Precision::kFp32)
      : seed_(seed),
        rate_(at::full({}, optimizer.learning_rate, kernels == Kernels::kOwn ? at::kDouble : at::kFloat)),
        accelerator_(make_host_accelerator(kernels)),
        reducer_(group == nullptr ? nullptr : accelerator_->make_reducer(*group, 0)),
        step_(network, seed, with(optimizer, precision), *accelerator_, 0,
              group == nullptr ? GroupMembership()
                               : GroupMembership{reducer_.get(), group->members(), group->member(), options},
              buckets) {}

  /// @return  mean cross-entropy of the batch, before the update
  double step(const at::Tensor& images, std::span<const std::int32_t> labels) {
    return step_part(images, labels, {0, labels.size()}, labels.size());
  }
  /// A member's part of a step of its group. @return  its share of that
  double step_part(const at::Tensor& images, std::span<const std::int32_t> labels, BatchPart part,
                   std::size_t batch) {
    const at::Tensor targets = at::tensor(std::vector<std::int64_t>(labels.begin(), labels.end()));
    const std::uint64_t seed = step_seed(seed_, steps_done_++);
    const at::Tensor share = step_.run(
        images, {targets}, part, static_cast<std::int64_t>(batch),
        {.rate = rate_, .seeds = seeds_of(step_.drawing_layers(), seed), .news = news_, .seed = seed});
    return share.item<double>();
  }
  TrainingStep& step_of() { return step_; }
  /// Of the steps to come: their weight in the moving average.
  void set_news(double weight) { news_ = at::full({}, weight, at::kFloat); }
  at::Tensor infer(const at::Tensor& images) { return step_.infer(images); }
  std::vector<trial::NamedTensor> export_tensors() { return step_.parameters().export_tensors(); }
  ParameterStore& parameters() { return step_.parameters(); }
  /// The leader's has the whole state of the optimizer.
  trial::TrainingState state() {
    trial::TrainingState state;
    step_.collect_state([] {});
    step_.save_state(state);
    return state;
  }

 private:
  static TrainingOptions with(const OptimizerOptions& optimizer, Precision precision) {
    TrainingOptions options;
    options.optimizer = optimizer;
    options.precision = precision;
    return options;
  }

  std::uint64_t seed_;
  std::int64_t steps_done_ = 0;
  at::Tensor rate_;
  at::Tensor news_;
  std::unique_ptr<Accelerator> accelerator_;
  std::unique_ptr<DeviceReducer> reducer_;
  TrainingStep step_;
};

inline std::unique_ptr<HostStep> make_step(const space::Network& network, const OptimizerOptions& options,
                                           std::uint64_t seed) {
  return std::make_unique<HostStep>(network, options, seed);
}

}  // namespace skyline::train::test

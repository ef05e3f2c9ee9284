#include "train/device/device_step.hpp"

#include "train/course/trial_run.hpp"
#include "train/device/device_network.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

constexpr const char* kParameters = "parameters";  // as the host's learner calls them
constexpr const char* kOptimizer = "optimizer";

double share(BatchPart part, std::int64_t batch) {
  return static_cast<double>(part.count) / static_cast<double>(batch);
}

DeviceEpoch::Plan epoch_plan(const TrainingSetup& setup, const trial::Trial& trial,
                             const DeviceNetwork& network) {
  const std::size_t samples = setup.split.train.size();
  return {steps_per_epoch(samples, setup.options.batch), static_cast<std::int64_t>(samples),
          steps_for(trial.budget().epochs, samples, setup.options.batch), trial.seed,
          network.drawing_layers()};
}

std::int64_t largest_part(const TrainingSetup& setup, std::size_t members) {
  const std::int64_t batch =
      std::min(setup.options.batch, static_cast<std::int64_t>(setup.split.train.size()));
  const auto count = static_cast<std::int64_t>(members);
  return (batch + count - 1) / count;
}

}  // namespace

DeviceStep::DeviceStep(const TrainingSetup& setup, const trial::Trial& trial, AcceleratorStream& stream,
                       const std::optional<DeviceMembership>& group, const BucketSizes& buckets)
    : setup_(setup),
      context_(*setup.on_device),
      stream_(stream),
      group_(group),
      network_(trial.architecture().network, trial.seed, context_.accelerator(), context_.device()),
      epoch_(context_, setup.options, epoch_plan(setup, trial, network_)),
      batch_(BatchBuffers::make(largest_part(setup, group ? group->members : 1), setup.dataset->shape(),
                                context_.device())) {
  if (group_) {
    join(buckets);
  } else {
    optimizer_ = std::make_unique<DeviceOptimizer>(setup.options.optimizer, network_.parameters());
  }
}

void DeviceStep::join(const BucketSizes& sizes) {
  ParameterStore& parameters = network_.parameters();
  const auto buckets = gradient_buckets(parameters, sizes.other_bytes, sizes.first_bytes);
  for (const GradientBucket& bucket : buckets) {
    network_.cut_backward(bucket.first_layer);
  }
  if (group_->options.statistics == GroupOptions::Statistics::kSynchronized) {
    network_.synchronize(*group_);
  }
  optimizer_ = std::make_unique<DeviceOptimizer>(setup_.options.optimizer, parameters,
                                                 owned_ranges(buckets, *group_, parameters));
  exchange_ = std::make_unique<DeviceExchange>(*group_, buckets, parameters, *optimizer_);
}

void DeviceStep::run(BatchPart part, std::int64_t batch) {
  optimizer_->clear_gradients();
  const at::Tensor loss = find_loss(part, batch);
  if (exchange_ == nullptr) {
    network_.backward(loss, {});
  } else {
    exchange_->begin_step(share(part, batch));
    network_.backward(loss, [this](std::size_t layer) { exchange_->layer_done(layer); });
  }
  const at::NoGradGuard no_gradients;
  if (exchange_ == nullptr) {
    optimizer_->step(epoch_.rate());
  } else {
    exchange_->finish_step(epoch_.rate());
  }
  epoch_.finish_step(loss.defined() ? loss.detach() : at::zeros_like(epoch_.rate()));
}

/// The part's share of the batch's mean loss; undefined for a part without samples.
at::Tensor DeviceStep::find_loss(BatchPart part, std::int64_t batch) {
  DeviceNetwork::Part data{{}, epoch_.seeds(), static_cast<std::int64_t>(part.first), batch};
  if (part.count == 0) {
    network_.train(data);
    return {};
  }
  const BatchBuffers buffers = batch_.first(static_cast<std::int64_t>(part.count));
  const at::Tensor* seed = setup_.options.augment.any() ? &epoch_.augment_seed() : nullptr;
  gather_on_device(context_, SampleSet::kTrain, epoch_.order(), epoch_.position(), buffers, seed,
                   setup_.options.augment);
  data.images = buffers.images;
  at::Tensor logits;
  {
    const AutocastScope autocast(context_.device().type(), setup_.options.precision == Precision::kBf16);
    logits = network_.train(data);
  }
  const at::Tensor loss = at::cross_entropy_loss(logits.to(at::kFloat), buffers.targets);
  return exchange_ == nullptr ? loss : loss.mul(share(part, batch));
}

/// The wait for the other members is one that sees whether they are lost: a copy to the host would not.
void DeviceStep::collect_state() {
  if (!group_ || !group_->is_sharded()) {
    return;
  }
  std::vector<at::Tensor> moments;
  stream_.run([&] { moments = exchange_->gather_moments([&] { stream_.wait(); }); });
  stream_.wait();
  if (!moments.empty()) {
    collected_.resize(optimizer_->state_size());
    optimizer_->write_state(moments, collected_);
  }
}

void DeviceStep::save_state(trial::TrainingState& state) const {
  const at::Tensor& block = network_.parameters().block();
  state.arrays.resize(2);
  state.arrays[0].name = kParameters;
  state.arrays[0].values.resize(static_cast<std::size_t>(block.numel()));
  state.arrays[1].name = kOptimizer;
  state.arrays[1].values = collected_;
  stream_.run([&] {
    at::from_blob(state.arrays[0].values.data(), block.sizes(), at::kFloat).copy_(block);
    if (collected_.empty()) {
      state.arrays[1].values.resize(optimizer_->state_size());
      optimizer_->write_state(state.arrays[1].values);
    }
  });
}

bool DeviceStep::load_state(const trial::TrainingState& state) {
  const at::Tensor& block = network_.parameters().block();
  if (state.arrays.size() != 2 || state.arrays[0].name != kParameters ||
      state.arrays[0].values.size() != static_cast<std::size_t>(block.numel()) ||
      state.arrays[1].name != kOptimizer || state.arrays[1].values.size() != optimizer_->state_size()) {
    return false;
  }
  stream_.run([&] {
    auto* const values = const_cast<float*>(state.arrays[0].values.data());  // only read
    block.copy_(at::from_blob(values, block.sizes(), at::kFloat));
    optimizer_->read_state(state.arrays[1].values, state.step);
  });
  return true;
}

}  // namespace skyline::train

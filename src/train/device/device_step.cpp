#include "train/device/device_step.hpp"

#include "train/course/trial_run.hpp"
#include "train/ops/autograd_op.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>

namespace skyline::train {
namespace {

constexpr const char* kParameters = "parameters";  // as the host's learner calls them
constexpr const char* kOptimizer = "optimizer";

constexpr std::int64_t kNoTarget = -100;  // of ATen's loss: a class to leave out

bool is_synchronized(const std::optional<DeviceMembership>& group) {
  return group && group->options.statistics == GroupOptions::Statistics::kSynchronized;
}

double share(BatchPart part, std::int64_t batch) {
  return static_cast<double>(part.count) / static_cast<double>(batch);
}

DeviceEpoch::Plan epoch_plan(const TrainingSetup& setup, const trial::Trial& trial,
                             const DevicePlace& place) {
  const std::size_t samples = setup.split.train.size();
  return {steps_per_epoch(samples, setup.options.batch), static_cast<std::int64_t>(samples),
          steps_for(trial.horizon().epochs, samples, setup.options.batch), trial.seed, place.drawing_layers};
}

std::int64_t largest_part(const TrainingSetup& setup, std::size_t members) {
  const std::int64_t batch =
      std::min(setup.options.batch, static_cast<std::int64_t>(setup.split.train.size()));
  const auto count = static_cast<std::int64_t>(members);
  return (batch + count - 1) / count;
}

ParameterStore make_parameters(const trial::Trial& trial, const c10::Device& device) {
  ParameterStore parameters(trial.architecture().network, trial.seed);
  parameters.move_to(device);
  return parameters;
}

/// The members' whole batch has the mean loss.
struct PartLoss {
  at::Tensor share;     // float32 []: the part's share of that loss
  at::Tensor gradient;  // of that loss by the logits
};

/// For a part without samples too.
PartLoss cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t batch) {
  const at::Tensor log_shares = at::log_softmax(logits, 1);
  const auto [sum, weight] = at::nll_loss_forward(log_shares, targets, {}, at::Reduction::Sum, kNoTarget);
  const at::Tensor each = at::full({}, 1.0 / static_cast<double>(batch), logits.options());
  const at::Tensor slope =
      at::nll_loss_backward(each, log_shares, targets, {}, at::Reduction::Sum, kNoTarget, weight);
  return {sum.mul(each), at::_log_softmax_backward_data(slope, log_shares, 1, at::kFloat)};
}

}  // namespace

DeviceStep::DeviceStep(const TrainingSetup& setup, const trial::Trial& trial, AcceleratorStream& stream,
                       const std::optional<DeviceMembership>& group, const BucketSizes& buckets)
    : setup_(setup),
      context_(*setup.on_device),
      stream_(stream),
      group_(group),
      parameters_(make_parameters(trial, context_.device())),
      place_{.accelerator = &context_.accelerator(),
             .bfloat16 = setup.options.precision == Precision::kBf16,
             .synchronized = is_synchronized(group_) ? &*group_ : nullptr},
      graph_(trial.architecture().network, parameters_, &place_),
      epoch_(context_, setup.options, epoch_plan(setup, trial, place_)),
      batch_(BatchBuffers::make(largest_part(setup, group ? group->members : 1), setup.dataset->shape(),
                                context_.device())) {
  if (group_) {
    join(buckets);
  } else {
    optimizer_ = std::make_unique<DeviceOptimizer>(setup.options.optimizer, parameters_);
  }
}

void DeviceStep::join(const BucketSizes& sizes) {
  const auto buckets = gradient_buckets(parameters_, sizes.other_bytes, sizes.first_bytes);
  optimizer_ = std::make_unique<DeviceOptimizer>(setup_.options.optimizer, parameters_,
                                                 owned_ranges(buckets, *group_, parameters_));
  exchange_ = std::make_unique<DeviceExchange>(*group_, buckets, parameters_, *optimizer_);
}

void DeviceStep::run(BatchPart part, std::int64_t batch) {
  const WithoutAutograd no_autograd;
  const at::Tensor logits = forward(part, batch);
  const at::Tensor targets = batch_.first(static_cast<std::int64_t>(part.count)).targets;
  PartLoss loss = cross_entropy(logits.flatten(1).to(at::kFloat), targets, batch);
  loss.gradient = loss.gradient.view(logits.sizes());
  if (exchange_ == nullptr) {
    graph_.backward(std::move(loss.gradient));
    optimizer_->step(epoch_.rate());
  } else {
    exchange_->begin_step(share(part, batch));
    graph_.backward(std::move(loss.gradient), [this](std::size_t layer) { exchange_->layer_done(layer); });
    exchange_->finish_step(epoch_.rate());
  }
  place_.seeds.reset();  // in a recording it is scratch memory
  epoch_.finish_step(loss.share);
}

at::Tensor DeviceStep::forward(BatchPart part, std::int64_t batch) {
  const BatchBuffers buffers = batch_.first(static_cast<std::int64_t>(part.count));
  if (part.count > 0) {
    const at::Tensor* seed = setup_.options.augment.any() ? &epoch_.augment_seed() : nullptr;
    gather_on_device(context_, SampleSet::kTrain, epoch_.order(), epoch_.position(), buffers, seed,
                     setup_.options.augment);
  }
  place_.seeds = epoch_.seeds();
  place_.first_sample = static_cast<std::int64_t>(part.first);
  place_.batch = batch;
  return graph_.forward(buffers.images, {seed_, part.first});
}

/// The wait for the other members is one that sees whether they are lost: a copy to the host would not.
void DeviceStep::collect_state() {
  if (!group_ || !group_->is_sharded()) {
    return;
  }
  stream_.run([&] { exchange_->collect_state(collected_, [&] { stream_.wait(); }); });
  stream_.wait();
}

void DeviceStep::save_state(trial::TrainingState& state) const {
  const at::Tensor& block = parameters_.block();
  state.arrays.resize(2);
  state.arrays[0].name = kParameters;
  state.arrays[0].values.resize(static_cast<std::size_t>(block.numel()));
  state.arrays[1].name = kOptimizer;
  state.arrays[1].values = collected_;
  stream_.run([&] {
    at::from_blob(state.arrays[0].values.data(), block.sizes(), at::kFloat).copy_(block);
    if (collected_.empty()) {
      state.arrays[1].values.resize(optimizer_->state().size());
      optimizer_->state().write(state.arrays[1].values);
    }
  });
}

bool DeviceStep::load_state(const trial::TrainingState& state) {
  const at::Tensor& block = parameters_.block();
  if (state.arrays.size() != 2 || state.arrays[0].name != kParameters ||
      state.arrays[0].values.size() != static_cast<std::size_t>(block.numel()) ||
      state.arrays[1].name != kOptimizer || state.arrays[1].values.size() != optimizer_->state().size()) {
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

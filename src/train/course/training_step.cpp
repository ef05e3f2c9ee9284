#include "train/course/training_step.hpp"

#include "train/course/loss.hpp"
#include "train/ops/autograd_op.hpp"

#include <utility>

#include <ATen/ops/from_blob.h>

namespace skyline::train {
namespace {

using Array = trial::TrainingState::Array;

constexpr const char* kParameters = "parameters";
constexpr const char* kOptimizer = "optimizer";

bool fits(const Array& array, const char* name, std::size_t size) {
  return array.name == name && array.values.size() == size;
}

/// Wraps an array of a state.
at::Tensor wrap(const Array& array) {
  return at::from_blob(const_cast<float*>(array.values.data()),
                       {static_cast<std::int64_t>(array.values.size())}, at::kFloat);
}

bool synchronizes(const GroupMembership& group) {
  return group.reducer != nullptr && group.options.statistics == GroupOptions::Statistics::kSynchronized;
}

ParameterStore make_parameters(const space::Network& network, std::uint64_t seed,
                               const AcceleratorDevice& device) {
  ParameterStore parameters(network, seed);
  parameters.move_to(c10::Device(device.target));
  return parameters;
}

/// Sums go through the host where our own kernels train: messages there cost less beside the arithmetic.
BucketSizes default_buckets(Kernels kernels) {
  BucketSizes sizes;
  if (kernels == Kernels::kOwn) sizes.other_bytes = sizes.first_bytes;
  return sizes;
}

}  // namespace

TrainingStep::TrainingStep(const space::Network& network, std::uint64_t seed, const TrainingOptions& options,
                           Accelerator& accelerator, int device, const GroupMembership& group,
                           const std::optional<BucketSizes>& buckets)
    : group_(group),
      parameters_(make_parameters(network, seed, accelerator.devices().at(static_cast<std::size_t>(device)))),
      place_{.accelerator = &accelerator,
             .bfloat16 = options.precision == Precision::kBf16,
             .synchronized = synchronizes(group_) ? &group_ : nullptr},
      graph_(network, parameters_, place_),
      buckets_(gradient_buckets(parameters_, buckets.value_or(default_buckets(accelerator.kernels())))),
      optimizer_(options.optimizer, parameters_, accelerator.kernels(),
                 owned_ranges(buckets_, group_, parameters_)) {
  if (group_.reducer != nullptr) {
    exchange_.emplace(group_, buckets_, parameters_, optimizer_);
  }
}

at::Tensor TrainingStep::run(const at::Tensor& images, const at::Tensor& targets, BatchPart part,
                             std::int64_t batch, const StepValues& values) {
  const WithoutAutograd no_autograd;
  place_.seeds = values.seeds;
  place_.first_sample = static_cast<std::int64_t>(part.first);
  place_.batch = batch;
  const at::Tensor output = graph_.forward(images, {values.seed, part.first});
  PartLoss loss = cross_entropy(output, targets, batch, place_.accelerator->kernels());
  if (exchange_) {
    exchange_->begin_step(part.count, static_cast<std::size_t>(batch));
    graph_.backward(std::move(loss.gradient), [this](std::size_t layer) { exchange_->layer_done(layer); });
    exchange_->finish_step(values.rate);
  } else {
    graph_.backward(std::move(loss.gradient));
    optimizer_.step(values.rate);
  }
  place_.seeds.reset();  // in a recording it is scratch memory
  return loss.share;
}

at::Tensor TrainingStep::infer(const at::Tensor& images) {
  const WithoutAutograd no_autograd;
  return graph_.infer(images).flatten(1).to(at::kFloat);
}

void TrainingStep::collect_state(const std::function<void()>& wait) {
  if (group_.is_sharded()) {
    exchange_->collect_state(collected_, wait);
  }
}

void TrainingStep::save_state(trial::TrainingState& state) const {
  state.arrays.resize(2);
  Array& values = state.arrays[0];
  values.name = kParameters;
  values.values.resize(static_cast<std::size_t>(parameters_.block().numel()));
  wrap(values).copy_(parameters_.block());
  Array& moments = state.arrays[1];
  moments.name = kOptimizer;
  moments.values = collected_;
  if (!group_.is_sharded()) {
    moments.values.resize(optimizer_.state().size());
    optimizer_.state().write(moments.values);
  }
}

bool TrainingStep::load_state(const trial::TrainingState& state) {
  const at::Tensor& block = parameters_.block();
  if (state.arrays.size() != 2 ||
      !fits(state.arrays[0], kParameters, static_cast<std::size_t>(block.numel())) ||
      !fits(state.arrays[1], kOptimizer, optimizer_.state().size())) {
    return false;
  }
  block.copy_(wrap(state.arrays[0]));
  optimizer_.read_state(state.arrays[1].values, state.step);
  graph_.parameters_changed();
  return true;
}

}  // namespace skyline::train

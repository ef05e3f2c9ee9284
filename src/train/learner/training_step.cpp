#include "train/learner/training_step.hpp"

#include "skyline/space/layer_kind.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

using Array = trial::TrainingState::Array;

constexpr const char* kParameters = "parameters";
constexpr const char* kOptimizer = "optimizer";
constexpr const char* kAverage = "average";
constexpr const char* kBest = "best";

bool fits(const Array& array, const char* name, std::size_t size) {
  return array.name == name && array.values.size() == size;
}

/// Returns a tensor that wraps an array of a state.
at::Tensor wrap(const Array& array) {
  return at::from_blob(const_cast<float*>(array.values.data()),
                       {static_cast<std::int64_t>(array.values.size())}, at::kFloat);
}

bool synchronizes(const GroupMembership& group) {
  return group.reducer != nullptr && group.options.statistics == GroupOptions::Statistics::kSynchronized;
}

ParameterStore make_parameters(const space::Network& network, std::uint64_t seed,
                               const AcceleratorDevice& device, at::MemoryFormat order) {
  ParameterStore parameters(network, seed);
  parameters.move_to(c10::Device(device.target), order);
  return parameters;
}

std::unique_ptr<Loss> loss_on(const TrainingOptions& options, const c10::Device& device) {
  auto loss = loss_of(options);
  if (auto* fused = dynamic_cast<FusedLoss*>(loss.get())) fused->move_to(device);
  return loss;
}

/// Returns the sizes of buckets. With kernels of our own sums go through the host, where messages cost less
/// in proportion to the arithmetic.
BucketSizes default_buckets(Kernels kernels) {
  BucketSizes sizes;
  if (kernels == Kernels::kOwn) sizes.other_bytes = sizes.first_bytes;
  return sizes;
}

}  // namespace

TrainingStep::TrainingStep(const space::Network& network, std::uint64_t seed, const TrainingOptions& options,
                           Accelerator& accelerator, int device, const GroupMembership& group,
                           const std::optional<BucketSizes>& buckets)
    : seed_(seed),
      group_(group),
      parameters_(make_parameters(network, seed, accelerator.devices().at(static_cast<std::size_t>(device)),
                                  order_of_activations(accelerator.kernels(), options.precision))),
      place_{.accelerator = &accelerator,
             .bfloat16 = options.precision == Precision::kBf16,
             .order = order_of_activations(accelerator.kernels(), options.precision),
             .synchronized = synchronizes(group_) ? &group_ : nullptr},
      graph_(network, parameters_, place_),
      loss_(loss_on(options, parameters_.block().device())),
      buckets_(gradient_buckets(parameters_, buckets.value_or(default_buckets(accelerator.kernels())))),
      optimizer_(options.optimizer, parameters_, accelerator.kernels(),
                 owned_ranges(buckets_, group_, parameters_)) {
  find_statistics(network);
  if (group_.reducer != nullptr) exchange_.emplace(group_, buckets_, parameters_, optimizer_);
}

at::Tensor TrainingStep::run(const at::Tensor& images, const LossTargets& targets, BatchPart part,
                             std::int64_t batch, const StepValues& values, const Accumulation& accumulation) {
  const WithoutAutograd no_autograd;
  place_.seeds = values.seeds;
  place_.first_sample = static_cast<std::int64_t>(part.first);
  place_.batch = batch;
  const at::Tensor output = graph_.forward(images, {values.seed, part.first});
  PartLoss loss = loss_of_part(*loss_, output, targets, batch, *place_.accelerator);
  if (watch_) watch_(StepWork::kLoss, 0);
  if (exchange_ && accumulation.is_last) {
    exchange_->begin_step(accumulation.earlier + part.count, static_cast<std::size_t>(batch));
  }
  backward(std::move(loss.gradient), accumulation);
  if (accumulation.is_last) update(values);
  place_.seeds.reset();  // in a recording this is scratch memory
  return loss.share;
}

void TrainingStep::backward(at::Tensor gradient, const Accumulation& accumulation) {
  const bool adds = accumulation.earlier > 0;
  const bool sends = exchange_ && accumulation.is_last;
  if (adds) set_gradients_aside();
  graph_.backward(std::move(gradient), [this, adds, sends](std::size_t layer) {
    if (adds) add_earlier(layer);
    if (sends) exchange_->layer_done(layer);
  });
}

void TrainingStep::update(const StepValues& values) {
  if (exchange_) {
    exchange_->finish_step(values.rate);
  } else {
    optimizer_.step(values.rate);
  }
  if (average_.defined()) average_.lerp_(parameters_.block(), values.ema_weight);
  if (watch_) watch_(StepWork::kUpdate, 0);
}

/// Keeps the gradients of the parts so far where the next backward pass does not replace them.
void TrainingStep::set_gradients_aside() {
  for (StoredLayer& layer : parameters_.layers()) {
    for (StoredTensor& tensor : layer.tensors()) tensor.earlier = std::exchange(tensor.gradient, {});
  }
}

/// Adds a layer's gradients to those of the earlier parts, layer by layer, so that only one layer has both.
void TrainingStep::add_earlier(std::size_t layer) {
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> gradients;
  for (StoredTensor& tensor : parameters_.layer(layer).tensors()) {
    at::Tensor earlier = std::exchange(tensor.earlier, {});
    if (!earlier.defined()) continue;
    at::Tensor gradient = std::exchange(tensor.gradient, earlier);
    if (!gradient.defined()) continue;
    sums.push_back(std::move(earlier));
    gradients.push_back(std::move(gradient));
  }
  if (!sums.empty()) at::_foreach_add_(sums, gradients);
}

at::Tensor TrainingStep::infer(const at::Tensor& images) {
  const WithoutAutograd no_autograd;
  return graph_.infer(images).flatten(1).to(at::kFloat);
}

void TrainingStep::collect_state(const std::function<void()>& wait) {
  if (group_.is_sharded()) exchange_->collect_state(collected_, wait);
}

void TrainingStep::swap_average() {
  if (!average_.defined()) return;
  const at::Tensor block = parameters_.block();
  const at::Tensor trained = block.clone();
  block.copy_(average_);
  average_.copy_(trained);
  is_average_ = !is_average_;
  graph_.parameters_changed();
}

void TrainingStep::keep_best() {
  if (!best_.defined()) best_ = at::empty_like(parameters_.block());
  best_.copy_(parameters_.block());
}

void TrainingStep::restore_best() {
  parameters_.block().copy_(best_);
  graph_.parameters_changed();
}

void TrainingStep::find_statistics(const space::Network& network) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    if (!space::traits_of(network.layers[i]).normalizes()) continue;
    const double momentum = space::attribute_number(network.layers[i], "momentum");
    for (const StoredTensor& tensor : parameters_.layer(i).tensors()) {
      const space::Shape& input = network.layers[i].input();
      if (!tensor.trainable && momentum > 0) {
        statistics_.push_back({tensor.value, momentum, input.height * input.width});
      }
    }
  }
}

/// Measures the statistics. After one batch, a running mean that began at 0 is momentum times the batch's
/// value.
bool TrainingStep::recalibrate(std::int64_t batches, BatchPart part, std::int64_t samples,
                               const std::function<at::Tensor(std::int64_t number)>& images) {
  if (statistics_.empty()) return true;
  const WithoutAutograd no_autograd;
  place_.first_sample = static_cast<std::int64_t>(part.first);
  place_.batch = samples;
  // A single value has no variance, so layers that normalize over one value keep their statistics.
  const auto is_measured = [&](const Statistic& statistic) { return samples * statistic.pixels > 1; };
  std::vector<at::Tensor> before;
  std::vector<at::Tensor> sums;
  for (const Statistic& statistic : statistics_) {
    before.push_back(statistic.value.clone());
    sums.push_back(at::zeros_like(statistic.value));
  }
  bool stopped = false;  // if so, everything is as it was before
  for (std::int64_t number = 0; number < batches; ++number) {
    const at::Tensor given = images(number);
    stopped = !given.defined();
    if (stopped) break;
    for (const Statistic& statistic : statistics_) at::Tensor(statistic.value).zero_();
    const std::uint64_t seed = derive_seed(seed_, "recalibrate", {static_cast<std::uint64_t>(number)});
    std::vector<std::int64_t> seeds;
    for (const std::string& layer : place_.drawing_layers) {
      seeds.push_back(static_cast<std::int64_t>(derive_seed(seed, layer)));
    }
    place_.seeds = at::tensor(seeds, at::kLong).to(given.device());
    graph_.forward(given, {seed, part.first});
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(statistics_[i].value);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Statistic& statistic = statistics_[i];
    sums[i].div_(statistic.momentum * static_cast<double>(batches));
    at::Tensor(statistic.value).copy_(stopped || !is_measured(statistic) ? before[i] : sums[i]);
  }
  place_.seeds.reset();
  graph_.parameters_changed();
  return !stopped;
}

/// Calls `reorder` for each array of a state whose filters are in another order than the block's. States have
/// one order, in which a learner on any device takes them up.
template <typename Reorder>
void TrainingStep::reorder(trial::TrainingState& state, const Reorder& reorder) const {
  if (place_.order != at::MemoryFormat::Contiguous) return;
  const std::vector<FilterPlace> in_block = parameters_.filters();
  const std::vector<FilterPlace> in_moments = optimizer_.state().filters();
  for (Array& array : state.arrays) {
    reorder(std::span<float>(array.values), array.name == kOptimizer ? in_moments : in_block);
  }
}

void TrainingStep::save_state(trial::TrainingState& state) const {
  const auto write = [&state](std::size_t place, const char* name, const at::Tensor& values) {
    state.arrays[place].name = name;
    state.arrays[place].values.resize(static_cast<std::size_t>(values.numel()));
    wrap(state.arrays[place]).copy_(values);
  };
  state.arrays.resize(std::size_t{2} + (average_.defined() ? 1 : 0) + (best_.defined() ? 1 : 0));
  write(0, kParameters, is_average_ ? average_ : parameters_.block());
  Array& moments = state.arrays[1];
  moments.name = kOptimizer;
  moments.values = collected_;
  if (!group_.is_sharded()) {
    moments.values.resize(optimizer_.state().size());
    optimizer_.state().write(moments.values);
  }
  if (average_.defined()) write(2, kAverage, is_average_ ? parameters_.block() : average_);
  if (best_.defined()) write(state.arrays.size() - 1, kBest, best_);
  reorder(state, put_in_channels_last);
}

bool TrainingStep::load_state(const trial::TrainingState& given) {
  const at::Tensor& block = parameters_.block();
  const auto size = static_cast<std::size_t>(block.numel());
  const std::size_t first_copy = average_.defined() ? 3 : 2;
  const bool has_best = given.arrays.size() > first_copy;
  if (given.arrays.size() != first_copy + (has_best ? 1 : 0) || !fits(given.arrays[0], kParameters, size) ||
      !fits(given.arrays[1], kOptimizer, optimizer_.state().size()) ||
      (average_.defined() && !fits(given.arrays[2], kAverage, size)) ||
      (has_best && !fits(given.arrays.back(), kBest, size))) {
    return false;
  }
  trial::TrainingState reordered;
  if (place_.order == at::MemoryFormat::Contiguous) reorder(reordered = given, put_in_planes);
  const trial::TrainingState& state = reordered.arrays.empty() ? given : reordered;
  block.copy_(wrap(state.arrays[0]));
  if (average_.defined()) average_.copy_(wrap(state.arrays[2]));
  if (has_best) best_ = wrap(state.arrays.back()).to(block.device(), false, true);
  optimizer_.read_state(state.arrays[1].values, state.step);
  graph_.parameters_changed();
  return true;
}

}  // namespace skyline::train

#include "train/learner/epoch_tables.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "train/batches/batch_source.hpp"
#include "train/kernels/step_end.hpp"
#include "train/learner/training_step.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Copies host values over the first elements of a tensor's memory.
template <typename T>
void fill(const at::Tensor& tensor, std::span<const T> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const auto type = std::is_same_v<T, double> ? at::kDouble : at::kLong;
  const at::Tensor host = at::from_blob(const_cast<T*>(values.data()), {count}, type);
  tensor.view({-1}).narrow(0, 0, count).copy_(host);
}

}  // namespace

EpochTables::EpochTables(DeviceDataset& context, const TrainingOptions& options, Plan plan)
    : accelerator_(context.accelerator()),
      rate_(options, plan.steps, plan.total_steps),
      plan_(std::move(plan)),
      batch_(options.batch),
      is_own_(context.accelerator().kernels() == Kernels::kOwn) {
  const at::TensorOptions whole = at::TensorOptions(at::kLong).device(context.device());
  const at::TensorOptions real = whole.dtype(is_own_ ? at::kDouble : at::kFloat);
  order_ = at::zeros({plan_.samples}, whole);
  rates_ = at::zeros({plan_.steps}, real);
  seeds_ = at::zeros({plan_.steps, static_cast<std::int64_t>(plan_.drawing_layers.size())}, whole);
  losses_ = at::zeros({plan_.steps}, real);
  current_rate_ = at::zeros({}, real);
  if (plan_.average > 0) ema_weights_ = at::zeros({plan_.steps}, whole.dtype(at::kFloat));
  augment_seed_ = at::zeros({}, whole);
  counters_ = at::zeros({2}, whole);
  step_ = counters_.narrow(0, 0, 1);
  position_ = counters_.select(0, 1);
}

void EpochTables::begin(std::uint64_t epoch, std::span<const std::int64_t> order) {
  require(static_cast<std::int64_t>(order.size()) == plan_.samples, "an epoch of another size");
  fill(order_, order);
  augment_seed_.fill_(static_cast<std::int64_t>(first_image_seed(plan_.trial_seed, epoch)));
  std::vector<double> rates;
  std::vector<double> ema_weights;
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < plan_.steps; ++i) {
    const std::int64_t step = static_cast<std::int64_t>(epoch) * plan_.steps + i;
    rates.push_back(rate_.at(step));
    // In early steps the average of the weights forgets faster. Otherwise their initial values would weigh
    // too much for long.
    const auto count = static_cast<double>(step + 1);
    ema_weights.push_back(1 - std::min(plan_.average, (1 + count) / (10 + count)));
    for (const std::string& layer : plan_.drawing_layers) {
      seeds.push_back(static_cast<std::int64_t>(derive_seed(step_seed(plan_.trial_seed, step), layer)));
    }
  }
  fill(rates_, std::span<const double>(rates));
  if (plan_.average > 0) fill(ema_weights_, std::span<const double>(ema_weights));
  fill(seeds_, std::span<const std::int64_t>(seeds));
}

void EpochTables::seek(std::int64_t step, std::int64_t first) {
  step_.fill_(step);
  position_.fill_(first);
  current_rate_.copy_(rates_.select(0, step));
}

at::Tensor EpochTables::current(const at::Tensor& table) const {
  if (table.numel() == 0) return {};  // no layer draws
  return is_own_ ? table.select(0, *step_.const_data_ptr<std::int64_t>())
                 : table.index_select(0, step_).select(0, 0);
}

void EpochTables::finish_step(const at::Tensor& loss) {
  if (is_own_) {  // with small networks, tensor operations would take a visible part of the step
    auto* counters = counters_.mutable_data_ptr<std::int64_t>();
    losses_.mutable_data_ptr<double>()[counters[0]] = *loss.const_data_ptr<double>();
    counters[0] += 1;
    counters[1] += batch_;
    return;
  }
  accelerator_.end_step({.loss = loss.const_data_ptr<float>(),
                         .losses = losses_.mutable_data_ptr<float>(),
                         .rates = rates_.const_data_ptr<float>(),
                         .rate = current_rate_.mutable_data_ptr<float>(),
                         .counters = counters_.mutable_data_ptr<std::int64_t>(),
                         .steps = plan_.steps,
                         .batch = batch_});
}

std::vector<double> EpochTables::losses(std::int64_t first_step, std::int64_t count) const {
  const at::Tensor host = losses_.narrow(0, first_step, count).to(at::kCPU, at::kDouble);
  const auto* values = host.const_data_ptr<double>();
  return {values, values + count};
}

}  // namespace skyline::train

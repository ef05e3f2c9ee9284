#include "train/quantized/int8_forward.hpp"

#include "train/quantized/int8_numbers.hpp"
#include "train/quantized/value_ranges.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <ATen/ops/arange.h>
#include <ATen/ops/take.h>
#include <ATen/ops/tensor.h>

namespace skyline::train {
namespace {

using space::Int8Grid;
using space::Int8Op;

/// Returns whether an op's output depends on one value of its input, so that 256 numbers tell all of it.
bool is_of_one_value(Int8Op op) {
  return op == Int8Op::kClamp || op == Int8Op::kSigmoid || op == Int8Op::kHardSigmoid ||
         op == Int8Op::kHardSwish || op == Int8Op::kTanh;
}

/// Returns whether a multiple of an op's input gives the same multiple of its output.
bool keeps_factors(Int8Op op) {
  return keeps_grid(op) || op == Int8Op::kAveragePool || op == Int8Op::kMean;
}

}  // namespace

Int8Forward::Int8Forward(const space::Int8Network& network, const RealSteps& real)
    : network_(network),
      real_(real),
      products_(network.view.steps.size()),
      tables_(network.view.steps.size()),
      last_readers_(last_readers(network.view)) {
  for (std::size_t i = 0; i < network.view.steps.size(); ++i) {
    const space::Int8Step& step = network.view.steps[i];
    if (step.op == Int8Op::kConvolution) prepare_products(i);
    if (is_of_one_value(step.op)) tables_[i] = table_of(step);
  }
}

void Int8Forward::prepare_products(std::size_t index) {
  const space::Int8Step& step = network_.view.steps[index];
  const space::Int8Weights& weights = network_.weights[index];
  const at::ScalarType type = fits_float(weights) ? at::kFloat : at::kDouble;
  const std::vector<double> biases(weights.biases.begin(), weights.biases.end());
  const std::optional<Int8Grid>& output = network_.grids[step.output];
  std::vector<float> factors;
  for (const float scale : weights.scales) {
    const float real = network_.grids[step.inputs.front()]->scale * scale;
    factors.push_back(output ? real / output->scale : real);
  }
  products_[index] = {weight_tensor(weights.values, weights.scales.size(), step.products.window, type),
                      at::tensor(biases, at::kDouble).to(type), at::tensor(factors).view({1, -1, 1, 1})};
}

at::Tensor Int8Forward::to_numbers(space::Int8Tensor tensor, const at::Tensor& values) const {
  const std::optional<Int8Grid>& grid = network_.grids[tensor];
  if (!grid) return values;
  return values.div(grid->scale).round_().clamp_(kLeastInt8 - grid->zero, kMostInt8 - grid->zero);
}

at::Tensor Int8Forward::to_values(space::Int8Tensor tensor, const at::Tensor& numbers) const {
  const std::optional<Int8Grid>& grid = network_.grids[tensor];
  return grid ? numbers.mul(grid->scale) : numbers;
}

/// Rounds to whole numbers within the limits of a step. Without a grid nothing is rounded.
at::Tensor Int8Forward::limited(const space::Int8Step& step, const at::Tensor& steps_of_grid) const {
  const std::optional<Int8Grid>& grid = network_.grids[step.output];
  if (!grid) return steps_of_grid.clamp(step.low, step.high);
  const double least = kLeastInt8 - grid->zero;
  const double most = kMostInt8 - grid->zero;
  const auto scale = static_cast<double>(grid->scale);
  return steps_of_grid.round().clamp_(rounded(step.low / scale, least, most),
                                      rounded(step.high / scale, least, most));
}

/// Returns the numbers that a step gives for all numbers of its input, [256].
at::Tensor Int8Forward::table_of(const space::Int8Step& step) const {
  const std::int32_t zero = network_.grids[step.inputs.front()]->zero;
  const at::Tensor numbers = at::arange(kLeastInt8 - zero, kMostInt8 - zero + 1, at::kFloat);
  return compute_real(step, {numbers.view({-1, 1, 1, 1})}, numbers.numel()).flatten();
}

at::Tensor Int8Forward::multiply(std::size_t index, const at::Tensor& input) const {
  const space::Int8Step& step = network_.view.steps[index];
  const Products& made = products_[index];
  const at::Tensor sums =
      convolve(input.to(made.weight.scalar_type()), made.weight, made.bias, step.products).to(at::kFloat);
  return limited(step, sums.mul(made.factor));
}

/// Computes a step by its real values.
at::Tensor Int8Forward::compute_real(const space::Int8Step& step, const Activations& inputs,
                                     std::int64_t samples) const {
  Activations values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(to_values(step.inputs[i], inputs[i]));
  const at::Tensor output = real_.compute(step, values, samples);
  const std::optional<Int8Grid>& grid = network_.grids[step.output];
  return limited(step, grid ? output.div(grid->scale) : output);
}

at::Tensor Int8Forward::compute(std::size_t index, const Activations& inputs, std::int64_t samples) const {
  const space::Int8Step& step = network_.view.steps[index];
  if (step.op == Int8Op::kConvolution) return multiply(index, inputs.front());
  if (tables_[index].defined()) {
    const std::int32_t first = kLeastInt8 - network_.grids[step.inputs.front()]->zero;
    return at::take(tables_[index], inputs.front().sub(first).to(at::kLong));
  }
  if (!keeps_factors(step.op)) return compute_real(step, inputs, samples);
  const at::Tensor numbers = real_.compute(step, inputs, samples);
  const std::optional<Int8Grid>& before = network_.grids[step.inputs.front()];
  const std::optional<Int8Grid>& after = network_.grids[step.output];
  if (before == after) return limited(step, numbers);
  const at::Tensor values = to_values(step.inputs.front(), numbers);
  return limited(step, after ? values.div(after->scale) : values);
}

at::Tensor Int8Forward::run(const at::Tensor& images) const {
  const space::Int8View& view = network_.view;
  std::vector<at::Tensor> held(view.tensors.size());
  held[0] = to_numbers(0, images);
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    const space::Int8Step& step = view.steps[i];
    Activations inputs;
    for (const space::Int8Tensor input : step.inputs) inputs.push_back(held[input]);
    held[step.output] = compute(i, inputs, images.size(0));
    for (const space::Int8Tensor input : step.inputs) {
      if (last_readers_[input] == i) held[input].reset();
    }
  }
  return to_values(view.output, held[view.output]).flatten(1).contiguous();
}

}  // namespace skyline::train

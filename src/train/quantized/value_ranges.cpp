#include "train/quantized/value_ranges.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>

#include <ATen/ops/aminmax.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

namespace skyline::train {
namespace {

using space::Int8Op;

/// Names a tensor of which a value is not finite.
[[noreturn]] void fail_not_finite(const space::Network& network, const space::Int8View& view,
                                  space::Int8Tensor tensor, const at::Tensor& values, std::int64_t first) {
  std::string name = "the input";
  for (const space::Int8Step& step : view.steps) {
    if (step.output == tensor) name = network.layers[step.layer].name;
  }
  const at::Tensor rows = at::isfinite(values).flatten(1).all(1);
  const std::int64_t row = rows.to(at::kInt).argmin().item<std::int64_t>();
  throw UserError("int8: " + name + " is not finite on calibration sample " + std::to_string(first + row));
}

/// The float32 network with the weights that were folded.
class FoldedNetwork {
 public:
  FoldedNetwork(const space::Int8View& view, const RealSteps& real,
                const std::vector<FoldedProducts>& products)
      : view_(view), real_(real) {
    for (std::size_t i = 0; i < view.steps.size(); ++i) {
      const auto outputs = products[i].biases.size();
      if (outputs == 0) {
        weights_.emplace_back();
        biases_.emplace_back();
        continue;
      }
      weights_.push_back(
          weight_tensor(products[i].weights, outputs, view.steps[i].products.window, at::kFloat));
      biases_.push_back(at::tensor(products[i].biases, at::kDouble).to(at::kFloat));
    }
  }

  at::Tensor compute(std::size_t index, const Activations& inputs, std::int64_t samples) const {
    const space::Int8Step& step = view_.steps[index];
    const at::Tensor values = step.op == Int8Op::kConvolution
                                  ? convolve(inputs.front(), weights_[index], biases_[index], step.products)
                                  : real_.compute(step, inputs, samples);
    return values.clamp(step.low, step.high);
  }

 private:
  const space::Int8View& view_;
  const RealSteps& real_;
  std::vector<at::Tensor> weights_;  // one for each step; undefined if it has none
  std::vector<at::Tensor> biases_;
};

/// Takes values into a range. Returns false if one is not finite.
bool widen(ValueRange& range, const at::Tensor& values) {
  const auto [least, most] = at::aminmax(values);  // NaN if a value is
  const double low = least.item<double>();
  const double high = most.item<double>();
  if (!std::isfinite(low) || !std::isfinite(high)) return false;
  range.low = std::min(range.low, low);
  range.high = std::max(range.high, high);
  return true;
}

void add_sums(ValueRange& range, const at::Tensor& values) {
  const std::vector<double> sums = channel_sums(values);
  range.channel_means.resize(sums.size(), 0.0);
  for (std::size_t c = 0; c < sums.size(); ++c) range.channel_means[c] += sums[c];
}

}  // namespace

std::vector<std::size_t> last_readers(const space::Int8View& view) {
  std::vector<std::size_t> last(view.tensors.size(), view.steps.size());
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    for (const space::Int8Tensor input : view.steps[i].inputs) last[input] = i;
  }
  last[view.output] = view.steps.size();
  return last;
}

template <typename Value>
at::Tensor weight_tensor(const std::vector<Value>& values, std::size_t outputs, const space::Window& window,
                         at::ScalarType type) {
  const auto all = static_cast<std::int64_t>(values.size());
  const auto rows = static_cast<std::int64_t>(outputs);
  const std::vector<double> wide(values.begin(), values.end());
  return at::tensor(wide, at::kDouble)
      .view({rows, all / (rows * window.kernel[0] * window.kernel[1]), window.kernel[0], window.kernel[1]})
      .to(type);
}
template at::Tensor weight_tensor(const std::vector<double>&, std::size_t, const space::Window&,
                                  at::ScalarType);
template at::Tensor weight_tensor(const std::vector<std::int8_t>&, std::size_t, const space::Window&,
                                  at::ScalarType);

std::vector<double> channel_sums(const at::Tensor& values) {
  const at::Tensor sums = values.to(at::kDouble).sum({0, 2, 3}).contiguous();
  const double* const first = sums.const_data_ptr<double>();
  return {first, first + sums.numel()};
}

std::vector<ValueRange> value_ranges(const space::Network& network, const space::Int8View& view,
                                     const RealSteps& real, const std::vector<FoldedProducts>& products,
                                     const at::Tensor& samples) {
  const FoldedNetwork folded(view, real, products);
  const std::vector<std::size_t> last = last_readers(view);
  std::vector<ValueRange> ranges(view.tensors.size());
  const auto take = [&](space::Int8Tensor tensor, const at::Tensor& values, std::int64_t first) {
    if (!widen(ranges[tensor], values)) fail_not_finite(network, view, tensor, values, first);
  };
  for (std::int64_t first = 0; first < samples.size(0); first += kCalibrationBatch) {
    const std::int64_t count = std::min(kCalibrationBatch, samples.size(0) - first);
    std::vector<at::Tensor> held(view.tensors.size());
    held[0] = samples.narrow(0, first, count);
    take(0, held[0], first);
    for (std::size_t i = 0; i < view.steps.size(); ++i) {
      const space::Int8Step& step = view.steps[i];
      Activations inputs;
      for (const space::Int8Tensor input : step.inputs) inputs.push_back(held[input]);
      held[step.output] = folded.compute(i, inputs, count);
      take(step.output, held[step.output], first);
      if (step.op == Int8Op::kConvolution) add_sums(ranges[step.output], held[step.output]);
      for (const space::Int8Tensor input : step.inputs) {
        if (last[input] == i) held[input].reset();
      }
    }
  }
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    const auto places = static_cast<double>(samples.size(0) * view.tensors[t].height * view.tensors[t].width);
    for (double& mean : ranges[t].channel_means) mean /= places;
  }
  return ranges;
}

}  // namespace skyline::train

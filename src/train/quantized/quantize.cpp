#include "train/quantized/quantize.hpp"

#include "skyline/core/error.hpp"

#include "train/quantized/int8_forward.hpp"
#include "train/quantized/int8_numbers.hpp"
#include "train/quantized/value_ranges.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

namespace skyline::train {
namespace {

using space::Int8Op;

/// Bytes of tensors that may be held while biases are corrected. Larger networks take fewer samples.
constexpr std::int64_t kMostHeld = std::int64_t{128} << 20;

/// Returns which tensors stay float32: the output, and what it is a view of, if nothing else reads that.
std::vector<bool> float_tensors(const space::Int8View& view, bool float_output) {
  std::vector<bool> are_float(view.tensors.size());
  std::vector<std::size_t> readers(view.tensors.size());
  for (const space::Int8Step& step : view.steps) {
    for (const space::Int8Tensor input : step.inputs) ++readers[input];
  }
  space::Int8Tensor tensor = view.output;
  while (float_output && tensor > 0) {
    are_float[tensor] = true;
    const space::Int8Step& writer = view.steps[tensor - 1];  // step i writes tensor i + 1
    if (writer.op != Int8Op::kView || readers[writer.inputs.front()] > 1) break;
    tensor = writer.inputs.front();
  }
  return are_float;
}

void set_grids(space::Int8Network& network, const std::vector<ValueRange>& ranges, bool float_output) {
  const std::vector<bool> are_float = float_tensors(network.view, float_output);
  network.grids.assign(ranges.size(), std::nullopt);
  network.grids[0] = grid_of(ranges[0].low, ranges[0].high);
  for (const space::Int8Step& step : network.view.steps) {
    if (are_float[step.output]) continue;
    std::optional<space::Int8Grid>& grid = network.grids[step.output];
    const auto fixed = fixed_grid(step.op);
    if (keeps_grid(step.op)) {
      grid = network.grids[step.inputs.front()];
    } else {
      grid = fixed ? *fixed : grid_of(ranges[step.output].low, ranges[step.output].high);
    }
  }
}

/// Returns how many values exist at once, at most.
std::int64_t peak_elements(const space::Int8View& view) {
  const std::vector<std::size_t> last = last_readers(view);
  std::int64_t held = view.tensors[0].elements();
  std::int64_t most = held;
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    held += view.tensors[view.steps[i].output].elements();
    most = std::max(most, held);
    for (space::Int8Tensor t = 0; t < last.size(); ++t) {
      if (last[t] == i) held -= view.tensors[t].elements();
    }
  }
  return most;
}

/// Returns as many of the samples, evenly spread, as there is room for.
at::Tensor samples_with_room(const space::Int8View& view, const at::Tensor& samples) {
  const std::int64_t room = kMostHeld / std::max<std::int64_t>(1, peak_elements(view));
  const std::int64_t count = std::min(samples.size(0), std::max(kCalibrationBatch, room));
  if (count == samples.size(0)) return samples;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(i * samples.size(0) / count);
  return samples.index_select(0, at::tensor(rows, at::kLong));
}

/// Runs an int8 network over samples, step by step, and shifts the biases of each step before the next one.
class BiasCorrection {
 public:
  /// The arguments must outlive the object.
  BiasCorrection(space::Int8Network& network, const RealSteps& real, const std::vector<ValueRange>& ranges)
      : network_(network),
        ranges_(ranges),
        forward_(network, real),
        last_(last_readers(network.view)),
        held_(network.view.tensors.size()) {}

  void run(const at::Tensor& samples) {
    const space::Int8View& view = network_.view;
    const std::int64_t all = samples.size(0);
    for (std::int64_t first = 0; first < all; first += kCalibrationBatch) {
      samples_.push_back(std::min(kCalibrationBatch, all - first));
      const at::Tensor batch = samples.narrow(0, first, samples_.back());
      held_[0].push_back(packed(0, forward_.to_numbers(0, batch)));
    }
    for (std::size_t i = 0; i < view.steps.size(); ++i) {
      if (view.steps[i].op == Int8Op::kConvolution) correct(i, all);
      take_step(i);
    }
  }

 private:
  /// Returns numbers as bytes; values of a tensor without a grid are kept as they are.
  at::Tensor packed(space::Int8Tensor tensor, const at::Tensor& numbers) const {
    const std::optional<space::Int8Grid>& grid = network_.grids[tensor];
    return grid ? numbers.add(grid->zero).to(at::kChar) : numbers;
  }
  at::Tensor unpacked(space::Int8Tensor tensor, const at::Tensor& held) const {
    const std::optional<space::Int8Grid>& grid = network_.grids[tensor];
    return grid ? held.to(at::kFloat).sub_(grid->zero) : held;
  }

  at::Tensor output_of(std::size_t index, std::size_t batch) const {
    Activations inputs;
    for (const space::Int8Tensor input : network_.view.steps[index].inputs)
      inputs.push_back(unpacked(input, held_[input][batch]));
    return forward_.compute(index, inputs, samples_[batch]);
  }

  void correct(std::size_t index, std::int64_t samples) {
    const space::Int8Step& step = network_.view.steps[index];
    const space::Shape& shape = network_.view.tensors[step.output];
    std::vector<double> shifts = ranges_[step.output].channel_means;
    const auto places = static_cast<double>(samples * shape.height * shape.width);
    for (std::size_t batch = 0; batch < samples_.size(); ++batch) {
      const std::vector<double> sums = channel_sums(forward_.to_values(step.output, output_of(index, batch)));
      for (std::size_t c = 0; c < shifts.size(); ++c) shifts[c] -= sums[c] / places;
    }
    shift_biases(network_.weights[index], *network_.grids[step.inputs.front()], shifts);
    forward_.prepare_products(index);
  }

  void take_step(std::size_t index) {
    const space::Int8Step& step = network_.view.steps[index];
    for (std::size_t batch = 0; batch < samples_.size(); ++batch)
      held_[step.output].push_back(packed(step.output, output_of(index, batch)));
    for (const space::Int8Tensor input : step.inputs) {
      if (last_[input] == index) held_[input].clear();
    }
  }

  space::Int8Network& network_;
  const std::vector<ValueRange>& ranges_;
  Int8Forward forward_;
  std::vector<std::size_t> last_;
  std::vector<std::int64_t> samples_;          // sizes of the batches
  std::vector<std::vector<at::Tensor>> held_;  // batches of each tensor: int8, or float32 without a grid
};

}  // namespace

space::Int8Network quantize(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
                            const at::Tensor& samples, bool float_output) {
  require(samples.size(0) > 0, "calibration without samples");
  const at::NoGradGuard no_gradients;
  space::Int8Network made;
  made.view = space::int8_view(network);
  const RealSteps real(network, made.view, tensors);
  std::vector<FoldedProducts> products(made.view.steps.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    const space::Int8Step& step = made.view.steps[i];
    if (step.op == Int8Op::kConvolution) products[i] = folded_products(network, tensors, step);
  }
  const at::Tensor used = samples_with_room(made.view, samples);
  const std::vector<ValueRange> ranges = value_ranges(network, made.view, real, products, used);
  set_grids(made, ranges, float_output);
  made.weights.resize(products.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    const space::Int8Step& step = made.view.steps[i];
    if (step.op == Int8Op::kConvolution)
      made.weights[i] = quantized_weights(products[i], *made.grids[step.inputs.front()]);
  }
  BiasCorrection(made, real, ranges).run(used);
  return made;
}

}  // namespace skyline::train

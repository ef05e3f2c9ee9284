#include "skyline/core/random.hpp"

#include "train/device/device_place.hpp"
#include "train/kernels/dropout.hpp"
#include "train/ops/built_in_ops.hpp"

#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>

namespace skyline::train {
namespace {

/// Zeroes elements with a probability while training, and scales the others up so that the mean stays.
class DropoutOp final : public FusedOp {
 public:
  explicit DropoutOp(const space::Layer& layer)
      : layer_name_(layer.name),
        elements_(static_cast<std::uint64_t>(layer.input().elements())),
        probability_(space::attribute_number(layer, "probability")) {}

  void begin_step(std::uint64_t seed) override {
    mask_ = kernels::dropout_mask(derive_seed(seed, layer_name_), probability_);
  }

  void begin_part(std::size_t first_sample) override {
    mask_.first = static_cast<std::uint64_t>(first_sample) * elements_;
  }

  at::Tensor reference(const Activations& inputs, bool training) override {
    if (!training) {
      return inputs.front();
    }
    at::Tensor noise = at::empty_like(inputs.front(), at::MemoryFormat::ChannelsLast);
    float* values = noise.mutable_data_ptr<float>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(noise.numel()); ++i) {
      values[i] = kernels::is_kept(mask_, mask_.first + i) ? mask_.scale : 0.0F;
    }
    return inputs.front().mul(noise);
  }

  at::Tensor forward(const Activations& inputs) override {
    const at::Tensor input = channels_last(inputs.front());
    at::Tensor output = at::empty_like(input);
    apply(input, output);
    return output;
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    at::Tensor input_gradient = channels_last(gradient);
    apply(input_gradient, input_gradient);
    return {std::move(input_gradient)};
  }

  at::Tensor infer(const Activations& inputs) override { return inputs.front(); }

 private:
  /// Applies the mask; both tensors are dense, in channels_last order.
  void apply(const at::Tensor& source, at::Tensor& target) const {
    kernels::dropout(mask_, static_cast<std::size_t>(source.numel()), source.const_data_ptr<float>(),
                     target.mutable_data_ptr<float>());
  }

  std::string layer_name_;
  std::uint64_t elements_;  // per sample
  double probability_;
  kernels::DropoutMask mask_{};
};

/// Draws the same on a device, in channels_last order.
class DeviceDropoutOp final : public FusedOp {
 public:
  DeviceDropoutOp(const space::Layer& layer, const DevicePlace& place)
      : place_(place),
        number_(static_cast<std::int64_t>(place.drawing_layers.size()) - 1),
        elements_(layer.input().elements()),
        probability_(space::attribute_number(layer, "probability")) {}

  bool may_be_recorded() const override { return true; }

  at::Tensor reference(const Activations& inputs, bool training) override {
    return training ? apply(channels_last(inputs.front())) : inputs.front();
  }
  at::Tensor forward(const Activations& inputs) override { return reference(inputs, true); }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    return {apply(channels_last(gradient))};
  }
  at::Tensor infer(const Activations& inputs) override { return inputs.front(); }

 private:
  /// Draws the mask anew in each pass, so that none is kept. It is float32, as the factors are.
  at::Tensor apply(const at::Tensor& values) const {
    if (values.numel() == 0) return values;
    // Two elements share a draw, and draws are one step of the seed apart (kernels/dropout.hpp), so the mask
    // may begin at any even element.
    const std::int64_t first = place_.first_sample * elements_;
    const auto step =
        static_cast<std::int64_t>(kernels::kSplitMixStep * static_cast<std::uint64_t>(first / 2));
    at::Tensor mask = at::ones({first % 2 + values.numel()}, values.options().dtype(at::kFloat));
    place_.accelerator->dropout(mask, place_.seeds.select(0, number_).add(step), probability_);
    const at::Tensor kept = mask.narrow(0, first % 2, values.numel())
                                .view({values.size(0), values.size(2), values.size(3), values.size(1)})
                                .permute({0, 3, 1, 2});
    return kept.mul_(values).to(values.scalar_type());
  }

  const DevicePlace& place_;
  std::int64_t number_;  // among the layers that draw
  std::int64_t elements_;
  double probability_;
};

}  // namespace

std::unique_ptr<LayerOp> make_dropout_op(const space::Layer& layer, LayerTensors& /*tensors*/,
                                         const DevicePlace& place) {
  if (place.has_own_kernels()) {
    return std::make_unique<DropoutOp>(layer);
  }
  return std::make_unique<DeviceDropoutOp>(layer, place);
}

}  // namespace skyline::train

#include "train/device/device_place.hpp"
#include "train/kernels/dropout.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>

namespace skyline::train {
namespace {

/// Zeroes elements with a probability, and scales the others up so that the mean stays. It draws by the
/// element's place in the batch.
class Drops {
 public:
  /// @param elements  number per sample
  Drops(const space::Layer& layer, const DevicePlace& place, std::int64_t elements)
      : place_(place),
        number_(static_cast<std::int64_t>(place.drawing_layers.size()) - 1),
        elements_(elements),
        mask_(kernels::dropout_mask(0, space::attribute_number(layer, "probability"))) {}

  at::Tensor apply(const at::Tensor& source, bool in_place) const {
    if (source.numel() == 0) return source;
    const at::Tensor target = in_place ? source : at::empty_like(source);
    kernels::DropoutPlan plan{.mask = mask_,
                              .seed = place_.seeds.const_data_ptr<std::int64_t>() + number_,
                              .count = static_cast<std::size_t>(source.numel()),
                              .source = values_of(source),
                              .target = values_of(target)};
    plan.mask.first = static_cast<std::uint64_t>(place_.first_sample * elements_);
    place_.accelerator->dropout(plan);
    return target;
  }

 private:
  const DevicePlace& place_;
  std::int64_t number_;    // index among the layers that draw
  std::int64_t elements_;  // number per sample
  kernels::DropoutMask mask_;
};

/// Draws in channels_last order, again in each pass, so that no mask is kept.
class DropoutOp final : public FusedOp {
 public:
  DropoutOp(const space::Layer& layer, const DevicePlace& place)
      : drops_(layer, place, layer.input().elements()) {}

  bool may_be_recorded() const override { return true; }

  at::Tensor reference(const Activations& inputs, bool training) override {
    const at::Tensor& input = inputs.front();
    if (!training) return input;
    return input.mul(drops_.apply(at::ones_like(input, at::kFloat, at::MemoryFormat::ChannelsLast), true));
  }
  at::Tensor forward(const Activations& inputs) override {
    return drops_.apply(channels_last(inputs.front()), false);
  }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    return {drops_.apply(channels_last(gradient), true)};
  }
  at::Tensor infer(const Activations& inputs) override { return inputs.front(); }

 private:
  Drops drops_;
};

/// Drops whole samples: one draw per sample.
class StochasticDepthOp final : public LayerOp {
 public:
  StochasticDepthOp(const space::Layer& layer, const DevicePlace& place) : drops_(layer, place, 1) {}

  bool may_be_recorded() const override { return true; }
  at::Tensor reference(const Activations& inputs, bool training) override {
    const at::Tensor& input = inputs.front();
    if (!training) return input;
    return input.mul(drops_.apply(input.new_ones({input.size(0), 1, 1, 1}, at::kFloat), true));
  }

 private:
  Drops drops_;
};

}  // namespace

void add_dropout_ops(OpList& ops) {
  ops.add("dropout", of_class<DropoutOp>());
  ops.add("stochastic_depth", of_class<StochasticDepthOp>());
}

}  // namespace skyline::train

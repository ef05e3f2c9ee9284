// Layer kinds that work on each value, or on the values of a place, separately, and keep the shape.

#include "space/layers/layers.hpp"

#include <array>
#include <limits>

namespace skyline::space {
namespace {

// Activations in an int8 network. Those without an int8 kernel in the usual runtimes stay in float32.
Int8Tensor activation_in_float(Int8Steps& steps) {
  return steps.in_float();
}
template <Int8Op op>
Int8Tensor activation_step(Int8Steps& steps) {
  return steps.step(op, {steps.input()}, steps.layer().output);
}
Int8Tensor clamp_below(Int8Steps& steps) {
  return steps.clamp(steps.input(), 0, std::numeric_limits<double>::infinity());
}
Int8Tensor clamp_to_six(Int8Steps& steps) {
  return steps.clamp(steps.input(), 0, 6);
}
Int8Tensor times_its_sigmoid(Int8Steps& steps) {
  const Shape& shape = steps.layer().output;
  return steps.step(Int8Op::kMultiply, {steps.input(), steps.step(Int8Op::kSigmoid, {steps.input()}, shape)},
                    shape);
}

/// A function without tensors.
struct Activation {
  std::string_view name;
  std::int64_t flops = 1;  // FLOPs per value
  Zeros zeros = Zeros::kIfAll;
  Distribution distribution = Distribution::kUnknown;
  std::string_view constant = {};  // name of its only attribute
  double fallback = 0;
  std::string_view meaning = {};
  Int8Tensor (*int8)(Int8Steps&) = activation_in_float;
};

constexpr std::array kActivations{
    Activation{.name = "relu", .distribution = Distribution::kRectified, .int8 = clamp_below},
    Activation{.name = "relu6", .flops = 2, .int8 = clamp_to_six},
    Activation{.name = "leaky_relu",
               .flops = 2,
               .constant = "slope",
               .fallback = 0.01,
               .meaning = "Factor of values below 0."},
    Activation{.name = "elu",
               .flops = 4,
               .constant = "alpha",
               .fallback = 1,
               .meaning = "The output far below 0 is minus this."},
    Activation{.name = "gelu", .flops = 5},
    Activation{.name = "silu", .flops = 5, .int8 = times_its_sigmoid},
    Activation{.name = "hard_swish", .flops = 5, .int8 = activation_step<Int8Op::kHardSwish>},
    Activation{.name = "hard_sigmoid",
               .flops = 4,
               .zeros = Zeros::kUnknown,
               .int8 = activation_step<Int8Op::kHardSigmoid>},
    Activation{
        .name = "sigmoid", .flops = 4, .zeros = Zeros::kUnknown, .int8 = activation_step<Int8Op::kSigmoid>},
    Activation{.name = "tanh", .int8 = activation_step<Int8Op::kTanh>},
    Activation{
        .name = "softmax", .flops = 5, .zeros = Zeros::kUnknown, .int8 = activation_step<Int8Op::kSoftmax>}};

class ActivationKind final : public LayerKind {
 public:
  explicit ActivationKind(const Activation& activation) : activation_(activation) {}
  std::string_view name() const override { return activation_.name; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    if (activation_.constant.empty()) return;
    layer.attributes[activation_.constant] =
        reader.number_or(activation_.constant, at_least(0), activation_.fallback, activation_.meaning);
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
    layer.cost.flops = activation_.flops * layer.input().elements();
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {
        .features = Features::kKept, .distribution = activation_.distribution, .zeros = activation_.zeros};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override { return activation_.int8(steps); }

 private:
  const Activation& activation_;
};

class Prelu final : public LayerKind {
 public:
  std::string_view name() const override { return "prelu"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["per_channel"] =
        reader.flag_or("per_channel", false, "Whether each channel has a slope of its own.");
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    const std::int64_t slopes = attribute_flag(layer, "per_channel") ? layer.input().channels : 1;
    layer.output = layer.input();
    layer.tensors = {{"slope", {slopes}, Initializer::kQuarters, 0, true}};
    layer.cost.flops = 2 * layer.input().elements();
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .zeros = Zeros::kIfAll};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override { return steps.in_float(); }
};

}  // namespace

void add_activations(KindList& kinds) {
  for (const Activation& activation : kActivations)
    kinds.push_back(std::make_unique<ActivationKind>(activation));
  kinds.push_back(std::make_unique<Prelu>());
}

}  // namespace skyline::space

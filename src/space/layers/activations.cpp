// Layer kinds that work on each value, or on the values of a place, separately, and keep the shape.

#include "space/layers/layers.hpp"

#include <array>

namespace skyline::space {
namespace {

/// A function without tensors.
struct Activation {
  std::string_view name;
  std::int64_t flops = 1;  // FLOPs per value
  Zeros zeros = Zeros::kIfAll;
  Distribution distribution = Distribution::kUnknown;
  std::string_view constant = {};  // name of its only attribute
  double fallback = 0;
  std::string_view meaning = {};
};

constexpr std::array kActivations{Activation{.name = "relu", .distribution = Distribution::kRectified},
                                  Activation{.name = "relu6", .flops = 2},
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
                                  Activation{.name = "silu", .flops = 5},
                                  Activation{.name = "hard_swish", .flops = 5},
                                  Activation{.name = "hard_sigmoid", .flops = 4, .zeros = Zeros::kUnknown},
                                  Activation{.name = "sigmoid", .flops = 4, .zeros = Zeros::kUnknown},
                                  Activation{.name = "tanh"},
                                  Activation{.name = "softmax", .flops = 5, .zeros = Zeros::kUnknown}};

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
};

}  // namespace

void add_activations(KindList& kinds) {
  for (const Activation& activation : kActivations)
    kinds.push_back(std::make_unique<ActivationKind>(activation));
  kinds.push_back(std::make_unique<Prelu>());
}

}  // namespace skyline::space

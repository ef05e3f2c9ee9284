// Kinds that work on each value alone and keep the shape.

#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Relu final : public LayerKind {
 public:
  std::string_view name() const override { return "relu"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
    layer.cost.flops = layer.input().elements();
  }
  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .distribution = Distribution::kRectified};
  }
};

class Dropout final : public LayerKind {
 public:
  std::string_view name() const override { return "dropout"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["probability"] = reader.number_or("probability", at_least(0).below(1), 0.5,
                                                       "Probability of each value to become 0 in training.");
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = layer.input();  // no FLOPs: the identity in evaluation mode
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .draws = true};
  }
};

}  // namespace

std::unique_ptr<LayerKind> make_relu() {
  return std::make_unique<Relu>();
}

std::unique_ptr<LayerKind> make_dropout() {
  return std::make_unique<Dropout>();
}

}  // namespace skyline::space

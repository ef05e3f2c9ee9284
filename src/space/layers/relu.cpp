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

}  // namespace

std::unique_ptr<LayerKind> make_relu() {
  return std::make_unique<Relu>();
}

}  // namespace skyline::space

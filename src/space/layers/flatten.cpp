#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Flatten final : public LayerKind {
 public:
  std::string_view name() const override { return "flatten"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = {layer.input().elements(), 1, 1};
  }
  Traits traits(const Layer& /*layer*/) const override { return {.features = Features::kFlattened}; }
};

}  // namespace

std::unique_ptr<LayerKind> make_flatten() {
  return std::make_unique<Flatten>();
}

}  // namespace skyline::space

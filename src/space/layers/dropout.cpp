#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Dropout final : public LayerKind {
 public:
  std::string_view name() const override { return "dropout"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["probability"] = reader.number_or("probability", at_least(0).below(1), 0.5);
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = layer.input();  // no FLOPs: the identity in evaluation mode
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .draws = true};
  }
};

}  // namespace

std::unique_ptr<LayerKind> make_dropout() {
  return std::make_unique<Dropout>();
}

}  // namespace skyline::space

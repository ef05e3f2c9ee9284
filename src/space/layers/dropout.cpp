#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Dropout final : public LayerKind {
 public:
  std::string_view name() const override { return "dropout"; }
  std::vector<std::string> attribute_names() const override { return {"probability"}; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    const double probability = reader.number_or("probability", 0.5);
    if (!(probability >= 0 && probability < 1)) {
      reader.fail_at("probability",
                     "expected a number from 0 to below 1, got " + to_text(Value(probability)));
    }
    layer.attributes["probability"] = probability;
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = layer.input;  // no FLOPs: the identity in evaluation mode
  }
};

}  // namespace

std::unique_ptr<LayerKind> make_dropout() {
  return std::make_unique<Dropout>();
}

}  // namespace skyline::space

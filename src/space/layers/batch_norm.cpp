#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class BatchNorm final : public LayerKind {
 public:
  std::string_view name() const override { return "batch_norm"; }
  std::vector<std::string> attribute_names() const override { return {"epsilon", "momentum"}; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    const double epsilon = reader.number_or("epsilon", 1e-5);
    if (!(epsilon > 0))
      reader.fail_at("epsilon", "expected a number above 0, got " + to_text(Value(epsilon)));
    const double momentum = reader.number_or("momentum", 0.1);
    if (!(momentum >= 0 && momentum <= 1)) {
      reader.fail_at("momentum", "expected a number from 0 to 1, got " + to_text(Value(momentum)));
    }
    layer.attributes["epsilon"] = epsilon;
    layer.attributes["momentum"] = momentum;
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    const std::vector<std::int64_t> dims{layer.input.channels};
    layer.output = layer.input;
    layer.tensors = {{"weight", dims, Initializer::kOnes, 0, true},
                     {"bias", dims, Initializer::kZeros, 0, true},
                     {"running_mean", dims, Initializer::kZeros, 0, false},
                     {"running_var", dims, Initializer::kOnes, 0, false}};
    layer.cost.flops = 2 * layer.input.elements();  // evaluation: scale and shift
  }
};

}  // namespace

std::unique_ptr<LayerKind> make_batch_norm() {
  return std::make_unique<BatchNorm>();
}

}  // namespace skyline::space

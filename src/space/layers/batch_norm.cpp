#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class BatchNorm final : public LayerKind {
 public:
  std::string_view name() const override { return "batch_norm"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["epsilon"] =
        reader.number_or("epsilon", above(0), 1e-5, "Added to the variance before its root is taken.");
    layer.attributes["momentum"] =
        reader.number_or("momentum", at_least(0).at_most(1), 0.1,
                         "Weight of the newest batch in the running mean and variance.");
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    const std::vector<std::int64_t> dims{layer.input().channels};
    layer.output = layer.input();
    layer.tensors = {{"weight", dims, Initializer::kOnes, 0, true},
                     {"bias", dims, Initializer::kZeros, 0, true},
                     {"running_mean", dims, Initializer::kZeros, 0, false},
                     {"running_var", dims, Initializer::kOnes, 0, false}};
    layer.cost.flops = 2 * layer.input().elements();  // evaluation: scale and shift
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .distribution = Distribution::kNormalized};
  }
};

}  // namespace

std::unique_ptr<LayerKind> make_batch_norm() {
  return std::make_unique<BatchNorm>();
}

}  // namespace skyline::space

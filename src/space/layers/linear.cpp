#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Linear final : public LayerKind {
 public:
  std::string_view name() const override { return "linear"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["features"] =
        reader.integer("features", 1, "Values of the output; the last layer has one per class.");
    layer.attributes["bias"] = reader.flag_or("bias", true, "Whether each value adds a trained constant.");
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    if (layer.input().height != 1 || layer.input().width != 1) {
      reader.fail("expected a flat input, got " + to_text(layer.input()) +
                  "; put global_average_pool or flatten before it");
    }
    const std::int64_t inputs = layer.input().channels;
    const std::int64_t features = attribute_integer(layer, "features");
    layer.output = {features, 1, 1};
    layer.cost.macs = bounded_product(reader, {inputs, features});
    layer.cost.flops = 2 * layer.cost.macs;
    layer.tensors.push_back({"weight", {features, inputs}, Initializer::kKaimingUniform, inputs, true});
    if (attribute_flag(layer, "bias")) {
      layer.tensors.push_back({"bias", {features}, Initializer::kKaimingUniform, inputs, true});
      layer.cost.flops += features;
    }
  }

  Traits traits(const Layer& layer) const override {
    return {.may_be_identity = layer.output.channels >= layer.input().channels,
            .zeros = attribute_flag(layer, "bias") ? Zeros::kUnknown : Zeros::kIfAll};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    const std::string bias = attribute_flag(steps.layer(), "bias") ? "bias" : "";
    return steps.convolution(steps.input(), {.weight = "weight", .bias = bias}, steps.layer().output);
  }
};

}  // namespace

void add_linear(KindList& kinds) {
  kinds.push_back(std::make_unique<Linear>());
}

}  // namespace skyline::space

#include "additions.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/leaky_relu.h>

using namespace skyline;

namespace {

class ScaledLeakyRelu final : public space::LayerKind {
 public:
  std::string_view name() const override { return "scaled_leaky_relu"; }

  void read_attributes(space::Layer& layer, space::AttributeReader& reader) const override {
    layer.attributes["slope"] = reader.number_or("slope", above(0).below(1), 0.01, "Slope below 0.");
  }

  /// One weight per channel.
  void infer(space::Layer& layer, space::AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
    layer.tensors = {{"weight", {layer.input().channels}, space::Initializer::kOnes, 0, true}};
    layer.cost.flops = 3 * layer.input().elements();  // a comparison and two products
  }

  std::optional<space::Int8Tensor> int8(space::Int8Steps& steps) const override { return steps.in_float(); }
};

class ScaledLeakyReluOp final : public train::LayerOp {
 public:
  ScaledLeakyReluOp(double slope, train::LayerTensors& tensors) : slope_(slope), tensors_(tensors) {}

  at::Tensor reference(const train::Activations& inputs, bool /*training*/) override {
    return at::leaky_relu(inputs.front(), slope_).mul(tensors_.value("weight").view({1, -1, 1, 1}));
  }
  bool may_be_recorded() const override { return true; }

 private:
  double slope_;
  train::LayerTensors& tensors_;
};

}  // namespace

std::unique_ptr<space::LayerKind> make_scaled_leaky_relu_kind() {
  return std::make_unique<ScaledLeakyRelu>();
}

std::unique_ptr<train::LayerOp> make_scaled_leaky_relu_op(const space::Layer& layer,
                                                          train::LayerTensors& tensors) {
  return std::make_unique<ScaledLeakyReluOp>(space::attribute_number(layer, "slope"), tensors);
}

model_export::LayerExport scaled_leaky_relu_export() {
  return {.onnx =
              [](model_export::OnnxLayer& layer) {
                const auto slope = static_cast<float>(space::attribute_number(layer.layer(), "slope"));
                const std::string rectified = layer.node("LeakyRelu", {layer.image()}, {{"alpha", slope}});
                const std::string weight = layer.tensor("weight", {layer.layer().output.channels, 1, 1});
                return model_export::ExportedValue{layer.node("Mul", {rectified, weight})};
              },
          .pytorch =
              [](model_export::PytorchLayer& layer) {
                const space::Value slope = space::attribute_number(layer.layer(), "slope");
                return model_export::ExportedValue{"F.leaky_relu(" + layer.image() + ", " +
                                                   space::to_text(slope) + ") * " + layer.parameters() +
                                                   ".weight[:, None, None]"};
              }};
}

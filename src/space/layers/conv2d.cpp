#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Conv2d final : public LayerKind {
 public:
  std::string_view name() const override { return "conv2d"; }
  void read_attributes(Layer& layer, AttributeReader& reader) const override;
  void infer(Layer& layer, AttributeReader& reader) const override;
  Traits traits(const Layer& layer) const override;
};

// `same` becomes the number that it stands for: networks that differ in spelling alone are one architecture.
std::int64_t read_padding(std::int64_t kernel, AttributeReader& reader) {
  if (const auto padding = reader.integer_or_word(
          "padding", 0, "same",
          "Zeros around the input; `same`: half of an odd kernel, so that stride 1 keeps height and width."))
    return *padding;
  if (kernel % 2 == 0) {
    reader.fail_at("padding", "same needs an odd kernel, got kernel " + std::to_string(kernel));
  }
  return (kernel - 1) / 2;
}

void Conv2d::read_attributes(Layer& layer, AttributeReader& reader) const {
  const std::int64_t kernel = reader.integer("kernel", 1, "Height and width of the window.");
  layer.attributes["channels"] = reader.integer("channels", 1, "Channels of the output.");
  layer.attributes["kernel"] = kernel;
  layer.attributes["stride"] = reader.integer_or("stride", 1, 1, "Step of the window, both ways.");
  layer.attributes["padding"] = read_padding(kernel, reader);
  layer.attributes["bias"] = reader.flag_or("bias", true, "Whether each channel adds a trained constant.");
}

void Conv2d::infer(Layer& layer, AttributeReader& reader) const {
  const Shape& input = layer.input();
  const std::int64_t channels = attribute_integer(layer, "channels");
  const std::int64_t kernel = attribute_integer(layer, "kernel");
  const std::int64_t stride = attribute_integer(layer, "stride");
  const std::int64_t padding = attribute_integer(layer, "padding");
  if (kernel > input.height + 2 * padding || kernel > input.width + 2 * padding) {
    reader.fail("kernel " + std::to_string(kernel) + " is larger than its input " + to_text(input) +
                " with padding " + std::to_string(padding));
  }
  layer.output = {channels, sliding_output(input.height, kernel, stride, padding),
                  sliding_output(input.width, kernel, stride, padding)};
  const std::int64_t outputs = bounded_product(reader, {channels, layer.output.height, layer.output.width});
  const std::int64_t fan_in = bounded_product(reader, {input.channels, kernel, kernel});
  layer.cost.macs = bounded_product(reader, {fan_in, outputs});
  layer.cost.flops = 2 * layer.cost.macs;
  layer.tensors.push_back(
      {"weight", {channels, input.channels, kernel, kernel}, Initializer::kKaimingUniform, fan_in, true});
  if (attribute_flag(layer, "bias")) {
    layer.tensors.push_back({"bias", {channels}, Initializer::kKaimingUniform, fan_in, true});
    layer.cost.flops += outputs;
  }
}

Traits Conv2d::traits(const Layer& layer) const {
  const std::int64_t kernel = attribute_integer(layer, "kernel");
  return {.may_be_identity = layer.output.channels >= layer.input().channels &&
                             attribute_integer(layer, "stride") == 1 && kernel % 2 == 1 &&
                             attribute_integer(layer, "padding") == (kernel - 1) / 2};
}

}  // namespace

std::unique_ptr<LayerKind> make_conv2d() {
  return std::make_unique<Conv2d>();
}

}  // namespace skyline::space

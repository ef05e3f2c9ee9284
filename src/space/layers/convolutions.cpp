#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

/// The differences between the kinds of convolution.
struct Form {
  std::string_view name;
  bool has_channels = true;   // false: the output has as many channels as the input
  bool has_groups = true;     // false: one group per channel of the input
  bool is_separable = false;  // a second convolution, of kernel 1, mixes the channels
  bool is_two_dimensional = true;
};

class Convolution final : public LayerKind {
 public:
  explicit Convolution(const Form& form) : form_(form) {}
  std::string_view name() const override { return form_.name; }
  void read_attributes(Layer& layer, AttributeReader& reader) const override;
  void infer(Layer& layer, AttributeReader& reader) const override;
  Traits traits(const Layer& layer) const override;
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override;

 private:
  std::int64_t groups(const Layer& layer) const {
    return form_.has_groups ? attribute_integer_or(layer, "groups", 1) : layer.input().channels;
  }
  void check_groups(const Layer& layer, AttributeReader& reader) const;

  Form form_;
};

std::int64_t same_padding(std::int64_t kernel, std::int64_t dilation) {
  return dilation * (kernel - 1) / 2;
}

// Replaces `same` by the number that it means: networks that differ only in spelling are one architecture.
std::int64_t read_padding(std::int64_t kernel, std::int64_t dilation, AttributeReader& reader) {
  if (const auto padding = reader.integer_or_word(
          "padding", 0, "same",
          "Zeros around the input; `same`: half of an odd kernel, so that stride 1 keeps height and width."))
    return *padding;
  if (kernel % 2 == 0) {
    reader.fail_at("padding", "same needs an odd kernel, got kernel " + std::to_string(kernel));
  }
  return same_padding(kernel, dilation);
}

void Convolution::read_attributes(Layer& layer, AttributeReader& reader) const {
  const std::int64_t kernel = reader.integer(
      "kernel", 1, form_.is_two_dimensional ? "Height and width of the window." : "Width of the window.");
  if (form_.has_channels) {
    layer.attributes["channels"] = reader.integer("channels", 1, "Channels of the output.");
  }
  layer.attributes["kernel"] = kernel;
  layer.attributes["stride"] = reader.integer_or("stride", 1, 1, "Step of the window.");
  const std::int64_t dilation =
      reader.integer_or("dilation", 1, 1, "Distance between neighbours in the window.");
  set_unless(layer, "dilation", dilation, 1);
  layer.attributes["padding"] = read_padding(kernel, dilation, reader);
  if (form_.has_groups) {
    set_unless(
        layer, "groups",
        reader.integer_or("groups", 1, 1,
                          "Parts of the channels; each part of the output reads its own of the input."),
        1);
  }
  layer.attributes["bias"] = reader.flag_or("bias", true, "Whether each channel adds a trained constant.");
}

void Convolution::check_groups(const Layer& layer, AttributeReader& reader) const {
  if (!form_.has_groups) return;
  const std::int64_t channels = attribute_integer(layer, "channels");
  if (layer.input().channels % groups(layer) != 0 || channels % groups(layer) != 0) {
    reader.fail_at("groups", "groups " + std::to_string(groups(layer)) + " do not divide the " +
                                 std::to_string(layer.input().channels) + " channels of the input and the " +
                                 std::to_string(channels) + " of the output");
  }
}

void Convolution::infer(Layer& layer, AttributeReader& reader) const {
  const Shape& input = layer.input();
  if (!form_.is_two_dimensional) require_sequence(layer, reader);
  check_groups(layer, reader);
  const std::int64_t kernel = attribute_integer(layer, "kernel");
  const Sliding window{.kernel = kernel,
                       .stride = attribute_integer(layer, "stride"),
                       .padding = attribute_integer(layer, "padding"),
                       .dilation = attribute_integer_or(layer, "dilation", 1)};
  layer.output = window.over(input, form_.is_two_dimensional, reader);
  const std::int64_t channels = form_.has_channels ? attribute_integer(layer, "channels") : input.channels;
  const std::int64_t windowed = form_.is_separable ? input.channels : channels;
  const std::int64_t places = bounded_product(reader, {layer.output.height, layer.output.width});
  const std::int64_t rows = form_.is_two_dimensional ? kernel : 1;
  std::int64_t fan_in = bounded_product(reader, {input.channels / groups(layer), rows, kernel});
  std::vector<std::int64_t> dims{windowed, input.channels / groups(layer)};
  dims.resize(form_.is_two_dimensional ? 4 : 3, kernel);
  layer.cost.macs = bounded_product(reader, {fan_in, windowed, places});
  if (form_.is_separable) {
    layer.tensors.push_back({"depthwise_weight", dims, Initializer::kKaimingUniform, fan_in, true});
    layer.inner_elements = windowed * places;
    fan_in = input.channels;
    dims = {channels, input.channels, 1, 1};
    layer.cost.macs += bounded_product(reader, {fan_in, channels, places});
  }
  layer.output.channels = channels;
  layer.cost.flops = 2 * layer.cost.macs;
  layer.tensors.push_back({"weight", dims, Initializer::kKaimingUniform, fan_in, true});
  const std::int64_t outputs = bounded_product(reader, {channels, places});
  if (attribute_flag(layer, "bias")) {
    layer.tensors.push_back({"bias", {channels}, Initializer::kKaimingUniform, fan_in, true});
    layer.cost.flops += outputs;
  }
}

Traits Convolution::traits(const Layer& layer) const {
  const std::int64_t kernel = attribute_integer(layer, "kernel");
  const bool keeps_places =
      attribute_integer(layer, "stride") == 1 && kernel % 2 == 1 &&
      attribute_integer(layer, "padding") == same_padding(kernel, attribute_integer_or(layer, "dilation", 1));
  const bool holds_input = groups(layer) == 1 ? layer.output.channels >= layer.input().channels
                                              : layer.output.channels == layer.input().channels;
  return {.features = form_.has_channels ? Features::kNew : Features::kKept,
          .may_be_identity = keeps_places && holds_input && !form_.is_separable,
          .zeros = attribute_flag(layer, "bias") ? Zeros::kUnknown : Zeros::kIfAll};
}

std::optional<Int8Tensor> Convolution::int8(Int8Steps& steps) const {
  const Layer& layer = steps.layer();
  const Window window = Window::of(layer, !form_.is_two_dimensional);
  const std::string bias = attribute_flag(layer, "bias") ? "bias" : "";
  if (!form_.is_separable) {
    return steps.convolution(steps.input(),
                             {.weight = "weight", .bias = bias, .window = window, .groups = groups(layer)},
                             layer.output);
  }
  const Int8Tensor windowed = steps.convolution(
      steps.input(), {.weight = "depthwise_weight", .window = window, .groups = groups(layer)},
      {layer.input().channels, layer.output.height, layer.output.width});
  return steps.convolution(windowed, {.weight = "weight", .bias = bias}, layer.output);
}

}  // namespace

void add_convolutions(KindList& kinds) {
  for (const Form& form : {Form{.name = "conv2d"}, Form{.name = "conv1d", .is_two_dimensional = false},
                           Form{.name = "depthwise_conv2d", .has_channels = false, .has_groups = false},
                           Form{.name = "separable_conv2d", .has_groups = false, .is_separable = true}}) {
    kinds.push_back(std::make_unique<Convolution>(form));
  }
}

}  // namespace skyline::space

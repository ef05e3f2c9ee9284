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
  Window window(const Layer& layer) const { return Window::of(layer, !form_.is_two_dimensional); }
  void check_groups(const Layer& layer, AttributeReader& reader) const;

  Form form_;
};

Sides twice(std::int64_t side) {
  return {side, side};
}

/// Reads attributes of a window: two sides of one over images, one number of one over sequences.
class WindowReader {
 public:
  WindowReader(AttributeReader& reader, bool is_two_dimensional)
      : reader_(reader), is_two_dimensional_(is_two_dimensional) {}

  Sides kernel() {
    constexpr std::string_view kName = "kernel";
    if (is_two_dimensional_) return reader_.sides(kName, 1, "Height and width of the window.");
    return twice(reader_.integer(kName, 1, "Width of the window."));
  }
  /// Reads an attribute that is 1 unless it is given.
  Sides one_or(std::string_view name, std::string_view meaning) {
    if (is_two_dimensional_) return reader_.sides_or(name, 1, {1, 1}, meaning);
    return twice(reader_.integer_or(name, 1, 1, meaning));
  }
  /// Returns nullopt for `same`.
  std::optional<Sides> padding() {
    constexpr std::string_view kName = "padding";
    constexpr std::string_view kMeaning =
        "Zeros around the input; `same`: half of an odd kernel, so that stride 1 keeps height and width.";
    if (is_two_dimensional_) return reader_.sides_or_word(kName, 0, "same", kMeaning);
    const std::optional<std::int64_t> side = reader_.integer_or_word(kName, 0, "same", kMeaning);
    return side ? std::optional(twice(*side)) : std::nullopt;
  }

 private:
  AttributeReader& reader_;
  bool is_two_dimensional_;
};

bool is_odd(const Sides& kernel) {
  return kernel[0] % 2 == 1 && kernel[1] % 2 == 1;
}

/// Returns the padding by which an odd kernel keeps height and width.
Sides same_padding(const Sides& kernel, const Sides& dilation) {
  return {dilation[0] * (kernel[0] - 1) / 2, dilation[1] * (kernel[1] - 1) / 2};
}

void Convolution::read_attributes(Layer& layer, AttributeReader& reader) const {
  WindowReader window(reader, form_.is_two_dimensional);
  const Sides kernel = window.kernel();
  if (form_.has_channels) {
    layer.attributes["channels"] = reader.integer("channels", 1, "Channels of the output.");
  }
  layer.attributes["kernel"] = as_value(kernel);
  layer.attributes["stride"] = as_value(window.one_or("stride", "Step of the window."));
  const Sides dilation = window.one_or("dilation", "Distance between neighbours in the window.");
  set_unless(layer, "dilation", as_value(dilation), 1);
  const std::optional<Sides> padding = window.padding();
  if (!padding && !is_odd(kernel)) {
    reader.fail_at("padding", "same needs an odd kernel, got kernel " + to_text(as_value(kernel)));
  }
  // `same` becomes the number that it means: networks that differ only in spelling are one architecture.
  layer.attributes["padding"] = as_value(padding.value_or(same_padding(kernel, dilation)));
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
  const Window window = this->window(layer);
  layer.output = places_of(window, layer, reader);
  const std::int64_t channels = form_.has_channels ? attribute_integer(layer, "channels") : input.channels;
  const std::int64_t windowed = form_.is_separable ? input.channels : channels;
  const std::int64_t places = bounded_product(reader, {layer.output.height, layer.output.width});
  std::int64_t fan_in =
      bounded_product(reader, {input.channels / groups(layer), window.kernel[0], window.kernel[1]});
  std::vector<std::int64_t> dims{windowed, input.channels / groups(layer)};
  if (form_.is_two_dimensional) dims.push_back(window.kernel[0]);
  dims.push_back(window.kernel[1]);
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
  const Window window = this->window(layer);
  const bool keeps_places = window.stride == Sides{1, 1} && is_odd(window.kernel) &&
                            window.padding == same_padding(window.kernel, window.dilation);
  const bool holds_input = groups(layer) == 1 ? layer.output.channels >= layer.input().channels
                                              : layer.output.channels == layer.input().channels;
  return {.features = form_.has_channels ? Features::kNew : Features::kKept,
          .may_be_identity = keeps_places && holds_input && !form_.is_separable,
          .zeros = attribute_flag(layer, "bias") ? Zeros::kUnknown : Zeros::kIfAll};
}

std::optional<Int8Tensor> Convolution::int8(Int8Steps& steps) const {
  const Layer& layer = steps.layer();
  const Window window = this->window(layer);
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

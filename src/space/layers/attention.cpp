#include "space/layers/layers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skyline::space {
namespace {

class PatchEmbedding final : public LayerKind {
 public:
  std::string_view name() const override { return "patch_embedding"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["channels"] = reader.integer("channels", 1, "Channels of the tokens.");
    layer.attributes["patch"] =
        reader.integer("patch", 1, "Height and width of a patch, which becomes a token.");
    layer.attributes["position"] =
        reader.flag_or("position", true, "Whether a trained embedding of its position is added to a token.");
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    const Shape& input = layer.input();
    const std::int64_t channels = attribute_integer(layer, "channels");
    const std::int64_t patch = attribute_integer(layer, "patch");
    const std::int64_t rows = input.height == 1 ? 1 : patch;
    if (input.height % rows != 0 || input.width % patch != 0) {
      reader.fail("patch " + std::to_string(patch) + " does not divide its input " + to_text(input));
    }
    const std::int64_t tokens = (input.height / rows) * (input.width / patch);
    const std::int64_t fan_in = bounded_product(reader, {input.channels, rows, patch});
    const std::int64_t outputs = bounded_product(reader, {channels, tokens});
    layer.output = {channels, 1, tokens};
    layer.cost.macs = bounded_product(reader, {fan_in, outputs});
    layer.cost.flops = 2 * layer.cost.macs + outputs;
    layer.tensors = {
        {"weight", {channels, input.channels, rows, patch}, Initializer::kKaimingUniform, fan_in, true},
        {"bias", {channels}, Initializer::kKaimingUniform, fan_in, true}};
    if (attribute_flag(layer, "position")) {
      layer.tensors.push_back({"position", {channels, tokens}, Initializer::kNarrowNormal, 0, true});
      layer.cost.flops += outputs;
    }
  }

  Traits traits(const Layer& /*layer*/) const override { return {}; }

  /// Int8 runtimes have no sum with a trained constant, so an embedding of positions stays in float32.
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    const Layer& layer = steps.layer();
    if (attribute_flag(layer, "position")) return steps.in_float();
    const std::int64_t patch = attribute_integer(layer, "patch");
    const std::int64_t rows = layer.input().height == 1 ? 1 : patch;
    const Window window{.kernel = {rows, patch}, .stride = {rows, patch}};
    const Shape patches{layer.output.channels, layer.input().height / rows, layer.input().width / patch};
    const Int8Tensor tokens =
        steps.convolution(steps.input(), {.weight = "weight", .bias = "bias", .window = window}, patches);
    return patches == layer.output ? tokens : steps.step(Int8Op::kView, {tokens}, layer.output);
  }
};

class MultiHeadSelfAttention final : public LayerKind {
 public:
  std::string_view name() const override { return "multi_head_self_attention"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["heads"] =
        reader.integer("heads", 1, "Number of attentions side by side, each with its part of the channels.");
    layer.attributes["bias"] =
        reader.flag_or("bias", true, "Whether the products with weights add trained constants.");
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    require_sequence(layer, reader);
    const std::int64_t channels = layer.input().channels;
    const std::int64_t tokens = layer.input().width;
    const std::int64_t heads = attribute_integer(layer, "heads");
    if (channels % heads != 0) {
      reader.fail_at("heads", "heads " + std::to_string(heads) + " do not divide the " +
                                  std::to_string(channels) + " channels of the input");
    }
    layer.output = layer.input();
    for (const char* weight : {"query_weight", "key_weight", "value_weight"}) {
      layer.tensors.push_back({weight, {channels, channels}, Initializer::kXavierUniform, 0, true});
    }
    layer.tensors.push_back({"weight", {channels, channels}, Initializer::kKaimingUniform, channels, true});
    const std::int64_t values = bounded_product(reader, {channels, tokens});
    const std::int64_t scores = bounded_product(reader, {heads, tokens, tokens});
    layer.cost.macs = 4 * bounded_product(reader, {values, channels}) +
                      2 * bounded_product(reader, {channels, tokens, tokens});
    layer.cost.flops = 2 * layer.cost.macs + 6 * scores;  // a scale and a softmax
    layer.inner_elements = 4 * values + 2 * scores;
    if (!attribute_flag(layer, "bias")) return;
    for (const char* bias : {"query_bias", "key_bias", "value_bias", "bias"}) {
      layer.tensors.push_back({bias, {channels}, Initializer::kZeros, 0, true});
    }
    layer.cost.flops += 4 * values;
  }

  Traits traits(const Layer& layer) const override {
    return {.zeros = attribute_flag(layer, "bias") ? Zeros::kUnknown : Zeros::kIfAll};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    const Layer& layer = steps.layer();
    const std::int64_t heads = attribute_integer(layer, "heads");
    const auto product = [&](Int8Tensor input, const std::string& part, double factor) {
      const std::string bias = attribute_flag(layer, "bias") ? part + "bias" : "";
      return steps.convolution(input, {.weight = part + "weight", .bias = bias, .factor = factor},
                               layer.output);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(layer.input().channels / heads));
    const Int8Tensor query = product(steps.input(), "query_", scale);
    const Int8Tensor key = product(steps.input(), "key_", 1);
    const Int8Tensor value = product(steps.input(), "value_", 1);
    const Int8Tensor mixed = steps.step(Int8Op::kAttention, {query, key, value}, layer.output, {}, heads);
    return product(mixed, "", 1);
  }
};

/// A gate per channel, computed from the means of all channels.
class SqueezeExcitation final : public LayerKind {
 public:
  std::string_view name() const override { return "squeeze_excitation"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["reduction"] = reader.integer_or(
        "reduction", 1, 4,
        "Divides the channels, rounded down, for the layer between the means and the gates.");
    layer.attributes["hard"] = reader.flag_or(
        "hard", false, "Whether gates are hard_sigmoid, as in MobileNetV3, rather than sigmoid.");
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    const std::int64_t channels = layer.input().channels;
    const std::int64_t squeezed = std::max<std::int64_t>(1, channels / attribute_integer(layer, "reduction"));
    layer.output = layer.input();
    layer.tensors = {{"reduce_weight", {squeezed, channels}, Initializer::kKaimingUniform, channels, true},
                     {"reduce_bias", {squeezed}, Initializer::kKaimingUniform, channels, true},
                     {"expand_weight", {channels, squeezed}, Initializer::kKaimingUniform, squeezed, true},
                     {"expand_bias", {channels}, Initializer::kKaimingUniform, squeezed, true}};
    layer.inner_elements = 2 * channels + squeezed;
    layer.cost.macs = 2 * bounded_product(reader, {channels, squeezed});
    // The means, the products with gates, biases, relu and sigmoid.
    layer.cost.flops =
        2 * layer.input().elements() + 2 * layer.cost.macs + squeezed + channels + squeezed + 4 * channels;
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .zeros = Zeros::kIfAll};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    const Layer& layer = steps.layer();
    const Shape channels{layer.input().channels, 1, 1};
    const Shape squeezed{layer.tensors.front().dims.front(), 1, 1};
    const Int8Tensor means = steps.step(Int8Op::kMean, {steps.input()}, channels);
    const Int8Tensor reduced =
        steps.convolution(means, {.weight = "reduce_weight", .bias = "reduce_bias"}, squeezed);
    const Int8Tensor expanded =
        steps.convolution(steps.clamp(reduced, 0, std::numeric_limits<double>::infinity()),
                          {.weight = "expand_weight", .bias = "expand_bias"}, channels);
    const Int8Op gate = attribute_flag(layer, "hard") ? Int8Op::kHardSigmoid : Int8Op::kSigmoid;
    return steps.step(Int8Op::kMultiply, {steps.input(), steps.step(gate, {expanded}, channels)},
                      layer.output);
  }
};

}  // namespace

void add_attention(KindList& kinds) {
  kinds.push_back(std::make_unique<PatchEmbedding>());
  kinds.push_back(std::make_unique<MultiHeadSelfAttention>());
  kinds.push_back(std::make_unique<SqueezeExcitation>());
}

}  // namespace skyline::space

#include "skyline/space/window.hpp"

#include "model_export/pytorch/pytorch_layers.hpp"

namespace skyline::model_export {
namespace {

// torch.jit.script takes these functions: what is no tensor has a type.

constexpr const char* kLayerNorm = R"(
def layer_norm(x, epsilon: float, weight, bias):
    """Over the channels of each place."""
    centred = x - x.mean(1, keepdim=True)
    normed = centred * (centred.square().mean(1, keepdim=True) + epsilon).rsqrt()
    return normed * weight[:, None, None] + bias[:, None, None]
)";

constexpr const char* kAttention = R"(
def of_heads(x, heads: int):
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def attention(query, key, value, heads: int):
    """Each is [batch, tokens, channels]."""
    mixed = F.scaled_dot_product_attention(of_heads(query, heads), of_heads(key, heads), of_heads(value, heads))
    return mixed.transpose(1, 2).flatten(2)
)";

constexpr const char* kSqueezeExcitation = R"(
def squeeze_excitation(x, hard: bool, reduce_weight, reduce_bias, expand_weight, expand_bias):
    squeezed = F.relu(F.linear(x.mean((2, 3)), reduce_weight, reduce_bias))
    expanded = F.linear(squeezed, expand_weight, expand_bias)
    return x * (F.hardsigmoid(expanded) if hard else torch.sigmoid(expanded))[:, :, None, None]
)";

constexpr const char* kStochasticDepth = R"(
def stochastic_depth(x, probability: float, training: bool):
    """Leaves whole samples out in training."""
    kept = x.new_ones([x.shape[0]] + [1] * (x.dim() - 1))
    return x * F.dropout(kept, probability, training)
)";

/// Exports a call with the input as its first argument.
/// @param more  the other arguments, e.g. ", 1"
auto call_of(const std::string& function, const std::string& more = "") {
  return [=](PytorchLayer& layer) {
    const ExportedValue input = layer.value();
    return ExportedValue{function + "(" + input.name + more + ")", input.form};
  };
}

auto call_with(const std::string& function, const char* attribute, const std::string& more = "") {
  return [=](PytorchLayer& layer) {
    return call_of(function,
                   ", " + python_text(space::attribute_number(layer.layer(), attribute)) + more)(layer);
  };
}

auto of_image(const std::string& before, const std::string& behind) {
  return [=](PytorchLayer& layer) { return ExportedValue{before + layer.image() + behind}; };
}

ExportedValue stochastic_depth_call(PytorchLayer& layer) {
  layer.define(kStochasticDepth);
  return call_with("stochastic_depth", "probability", ", self.training")(layer);
}

auto sliding(const std::string& function, const std::string& more) {
  return [=](PytorchLayer& layer) {
    const space::Window window = space::Window::of_pool(layer.layer());
    return ExportedValue{function + "(" + layer.image() + ", " + python_text(window.kernel) +
                         ", stride=" + python_text(window.stride) +
                         ", padding=" + python_text(window.padding) + more + ")"};
  };
}

auto adaptive(const std::string& function) {
  return [=](PytorchLayer& layer) {
    const space::Shape& output = layer.layer().output;
    return ExportedValue{function + "(" + layer.image() + ", " +
                         python_text(std::array{output.height, output.width}) + ")"};
  };
}

auto join(const std::string& before, const std::string& between, const std::string& behind) {
  return [=](PytorchLayer& layer) {
    std::string text;
    const std::vector<ExportedValue> values = layer.values_in_one_form();
    for (const ExportedValue& value : values) text += (text.empty() ? before : between) + value.name;
    return ExportedValue{text + behind, values.front().form};
  };
}

/// Returns the layer's tensors as arguments of a function that has parameters of their names.
std::string tensor_arguments(PytorchLayer& layer) {
  const std::string tensors = layer.parameters();
  std::string text;
  for (const space::TensorSpec& spec : layer.layer().tensors) {
    text += ", " + spec.name + "=" + tensors + "." + spec.name;
  }
  return text;
}

ExportedValue layer_norm_call(PytorchLayer& layer) {
  layer.define(kLayerNorm);
  return {"layer_norm(" + layer.image() + ", " +
          python_text(space::attribute_number(layer.layer(), "epsilon")) + tensor_arguments(layer) + ")"};
}

ExportedValue self_attention_call(PytorchLayer& layer) {
  layer.define(kAttention);
  const bool has_bias = space::attribute_flag(layer.layer(), "bias");
  const std::string tensors = layer.parameters();
  const auto product = [&](const std::string& input, const std::string& part) {
    return "F.linear(" + input + ", " + tensors + "." + part + "weight" +
           (has_bias ? ", " + tensors + "." + part + "bias)" : ")");
  };
  const std::string tokens = layer.image() + ".squeeze(2).transpose(1, 2)";
  const std::string mixed = "attention(" + product(tokens, "query_") + ", " + product(tokens, "key_") + ", " +
                            product(tokens, "value_") + ", " +
                            std::to_string(space::attribute_integer(layer.layer(), "heads")) + ")";
  return {product(mixed, "") + ".transpose(1, 2).unsqueeze(2)"};
}

ExportedValue squeeze_excitation_call(PytorchLayer& layer) {
  layer.define(kSqueezeExcitation);
  return {"squeeze_excitation(" + layer.image() + ", " +
          python_text(space::attribute_flag(layer.layer(), "hard")) + tensor_arguments(layer) + ")"};
}

ExportedValue patch_embedding_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  const std::vector<std::int64_t>& dims = own.tensors.front().dims;
  const std::string tensors = layer.parameters();
  std::string tokens = "F.conv2d(" + layer.image() + ", " + tensors + ".weight, " + tensors +
                       ".bias, stride=" + python_text(std::array{dims[2], dims[3]}) + ").flatten(2)";
  if (space::attribute_flag(own, "position")) tokens = "(" + tokens + " + " + tensors + ".position)";
  return {tokens + ".unsqueeze(2)"};
}

ExportedValue separable_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  const space::Window window = space::Window::of(own, false);
  const std::string tensors = layer.parameters();
  const std::string by_channel =
      "F.conv2d(" + layer.image() + ", " + tensors +
      ".depthwise_weight, stride=" + python_text(window.stride) + ", padding=" + python_text(window.padding) +
      ", dilation=" + python_text(window.dilation) + ", groups=" + std::to_string(own.input().channels) + ")";
  return {"F.conv2d(" + by_channel + ", " + tensors + ".weight" +
          (space::attribute_flag(own, "bias") ? ", " + tensors + ".bias)" : ")")};
}

ExportedValue zero_call(PytorchLayer& layer) {
  const space::Shape& output = layer.layer().output;
  const std::string image = layer.image();
  return {image + ".new_zeros((" + image + ".shape[0], " + std::to_string(output.channels) + ", " +
          std::to_string(output.height) + ", " + std::to_string(output.width) + "))"};
}

}  // namespace

void add_pytorch_functions(PytorchFunctions& functions) {
  functions["adaptive_average_pool"] = adaptive("F.adaptive_avg_pool2d");
  functions["adaptive_max_pool"] = adaptive("F.adaptive_max_pool2d");
  functions["add"] = join("", " + ", "");
  functions["average_pool"] = sliding("F.avg_pool2d", ", count_include_pad=False");
  functions["concat"] = join("torch.cat((", ", ", "), 1)");
  functions["dropout"] = call_with("F.dropout", "probability", ", self.training");
  functions["elu"] = call_with("F.elu", "alpha");
  functions["flatten"] = [](PytorchLayer& layer) {
    return ExportedValue{layer.matrix(), ExportedValue::Form::kMatrix};
  };
  functions["gelu"] = call_of("F.gelu");
  functions["global_average_pool"] = of_image("", ".mean((2, 3), keepdim=True)");
  functions["global_max_pool"] = of_image("", ".amax((2, 3), keepdim=True)");
  functions["hard_sigmoid"] = call_of("F.hardsigmoid");
  functions["hard_swish"] = call_of("F.hardswish");
  functions["identity"] = [](PytorchLayer& layer) { return layer.value(); };
  functions["layer_norm"] = layer_norm_call;
  functions["leaky_relu"] = call_with("F.leaky_relu", "slope");
  functions["max_pool"] = sliding("F.max_pool2d", "");
  functions["multi_head_self_attention"] = self_attention_call;
  functions["multiply"] = join("", " * ", "");
  functions["patch_embedding"] = patch_embedding_call;
  functions["prelu"] = [](PytorchLayer& layer) {
    const ExportedValue input = layer.value();
    return ExportedValue{"F.prelu(" + input.name + ", " + layer.parameters() + ".slope)", input.form};
  };
  functions["relu"] = call_of("F.relu");
  functions["relu6"] = call_of("F.relu6");
  functions["separable_conv2d"] = separable_call;
  functions["sigmoid"] = call_of("torch.sigmoid");
  functions["silu"] = call_of("F.silu");
  functions["softmax"] = call_of("F.softmax", ", 1");
  functions["squeeze_excitation"] = squeeze_excitation_call;
  functions["stochastic_depth"] = stochastic_depth_call;
  functions["tanh"] = call_of("torch.tanh");
  functions["zero"] = zero_call;
}

}  // namespace skyline::model_export

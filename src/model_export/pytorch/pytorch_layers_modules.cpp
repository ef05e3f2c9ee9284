#include "skyline/space/window.hpp"

#include "model_export/pytorch/pytorch_layers.hpp"

namespace skyline::model_export {
namespace {

std::string epsilon_text(const PytorchLayer& layer) {
  return ", eps=" + python_text(space::attribute_number(layer.layer(), "epsilon"));
}

/// Returns a call of the layer's module.
std::string called(PytorchLayer& layer, const std::string& constructor, const std::string& input) {
  return layer.module(constructor) + "(" + input + ")";
}

/// Exports a convolution, with one group per channel too.
ExportedValue conv2d_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  const std::vector<std::int64_t>& dims = own.tensors.front().dims;
  const space::Window window = space::Window::of(own, false);
  const auto text = [](const space::Sides& sides) {
    return sides[0] == sides[1] ? std::to_string(sides[0]) : python_text(sides);
  };
  const auto option = [&](const char* name, const space::Sides& value, std::int64_t neutral) {
    return value == space::Sides{neutral, neutral} ? "" : std::string(", ") + name + "=" + text(value);
  };
  const std::int64_t groups = own.input().channels / dims[1];
  return {called(layer,
                 "nn.Conv2d(" + std::to_string(own.input().channels) + ", " + std::to_string(dims[0]) + ", " +
                     text(window.kernel) + option("stride", window.stride, 1) +
                     option("padding", window.padding, 0) + option("dilation", window.dilation, 1) +
                     (groups == 1 ? "" : ", groups=" + std::to_string(groups)) +
                     (space::attribute_flag(own, "bias") ? "" : ", bias=False") + ")",
                 layer.image())};
}

ExportedValue conv1d_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  const std::vector<std::int64_t>& dims = own.tensors.front().dims;
  const space::Window window = space::Window::of(own, true);
  return {called(layer,
                 "nn.Conv1d(" + std::to_string(own.input().channels) + ", " + std::to_string(dims[0]) + ", " +
                     std::to_string(dims[2]) + ", stride=" + std::to_string(window.stride[1]) + ", padding=" +
                     std::to_string(window.padding[1]) + ", dilation=" + std::to_string(window.dilation[1]) +
                     ", groups=" + std::to_string(own.input().channels / dims[1]) +
                     ", bias=" + python_text(space::attribute_flag(own, "bias")) + ")",
                 layer.image() + ".squeeze(2)") +
          ".unsqueeze(2)"};
}

ExportedValue linear_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  return {called(layer,
                 "nn.Linear(" + std::to_string(own.input().channels) + ", " +
                     std::to_string(own.output.channels) +
                     (space::attribute_flag(own, "bias") ? ")" : ", bias=False)"),
                 layer.matrix()),
          ExportedValue::Form::kMatrix};
}

ExportedValue batch_norm_call(PytorchLayer& layer) {
  const ExportedValue input = layer.value();
  const space::Layer& own = layer.layer();
  const std::string kind = input.form == ExportedValue::Form::kMatrix ? "nn.BatchNorm1d(" : "nn.BatchNorm2d(";
  return {called(layer,
                 kind + std::to_string(own.input().channels) + epsilon_text(layer) +
                     ", momentum=" + python_text(space::attribute_number(own, "momentum")) + ")",
                 input.name),
          input.form};
}

ExportedValue group_norm_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  return {called(layer,
                 "nn.GroupNorm(" + std::to_string(space::attribute_integer(own, "groups")) + ", " +
                     std::to_string(own.input().channels) + epsilon_text(layer) + ")",
                 layer.image())};
}

ExportedValue instance_norm_call(PytorchLayer& layer) {
  const space::Layer& own = layer.layer();
  return {called(layer,
                 "nn.InstanceNorm2d(" + std::to_string(own.input().channels) + epsilon_text(layer) +
                     ", affine=" + python_text(space::attribute_flag(own, "affine")) + ")",
                 layer.image())};
}

}  // namespace

void add_pytorch_modules(PytorchFunctions& functions) {
  functions["batch_norm"] = batch_norm_call;
  functions["conv1d"] = conv1d_call;
  functions["conv2d"] = conv2d_call;
  functions["depthwise_conv2d"] = conv2d_call;
  functions["group_norm"] = group_norm_call;
  functions["instance_norm"] = instance_norm_call;
  functions["linear"] = linear_call;
}

}  // namespace skyline::model_export

#include "skyline/model_export/layer_export.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"
#include "model_export/model/exported_model.hpp"
#include "model_export/onnx/onnx_layers.hpp"
#include "model_export/pytorch/pytorch_layers.hpp"

#include <algorithm>
#include <set>

namespace skyline::model_export {
namespace {

using Exports = Registry<LayerExport>;

Exports& registry() {
  static Exports exports("layer export", [](Exports& built_in) {
    OnnxFunctions onnx;
    for (const auto add : {add_activation_nodes, add_attention_nodes, add_convolution_nodes, add_merge_nodes,
                           add_norm_nodes, add_pool_nodes}) {
      add(onnx);
    }
    PytorchFunctions pytorch;
    for (const auto add : {add_pytorch_functions, add_pytorch_modules}) add(pytorch);
    for (auto& [kind, function] : onnx) built_in.add(kind, {function, pytorch[kind]});
  });
  return exports;
}

}  // namespace

std::vector<ExportedValue> ExportedLayer::values_in_one_form() {
  std::vector<ExportedValue> values;
  const std::size_t count = layer().input_shapes.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(value(i));
  const auto form = values.front().form;
  if (std::ranges::count(values, form, &ExportedValue::form) == std::ssize(values)) return values;
  for (std::size_t i = 0; i < count; ++i) values[i] = {image(i)};
  return values;
}

void register_layer_export(std::string_view kind, LayerExport functions) {
  registry().add(kind, std::move(functions));
}

const LayerExport* find_layer_export(std::string_view kind) {
  return registry().find(kind);
}

std::set<std::string> kinds_without_export(const space::Network& network, Format format) {
  std::set<std::string> kinds;
  for (const space::Layer& layer : network.layers) {
    const LayerExport* functions = find_layer_export(layer.kind);
    const bool known = format == Format::kSafetensors ||
                       (functions != nullptr &&
                        (format == Format::kPytorch ? bool(functions->pytorch) : bool(functions->onnx)));
    if (!known) kinds.insert(layer.kind);
  }
  return kinds;
}

void check_weights(const ExportedModel& model, const std::filesystem::path& path) {
  const auto& tensors = model.weights.tensors;
  std::size_t next = 0;
  for (const space::Layer& layer : model.network.layers) {
    for (const space::TensorSpec& spec : layer.tensors) {
      const std::string name = layer.name + "." + spec.name;
      if (next == tensors.size() || tensors[next].name != name || tensors[next].dims != spec.dims) {
        throw UserError(path.string() + ": is not of this network: expected " + name + " next, got " +
                        (next == tensors.size() ? "nothing more" : tensors[next].name));
      }
      ++next;
    }
  }
  if (next < tensors.size()) {
    throw UserError(path.string() + ": is not of this network, which has no tensor " + tensors[next].name);
  }
}

}  // namespace skyline::model_export

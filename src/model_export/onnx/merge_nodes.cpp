// Kinds that join several inputs, and kinds that forward values.
#include "model_export/onnx/onnx_layers.hpp"

namespace skyline::model_export {
namespace {

/// Joins two inputs at a time.
auto fold(const char* op) {
  return [op](OnnxLayer& layer) {
    const std::vector<ExportedValue> values = layer.values_in_one_form();
    ExportedValue result = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      result.name = layer.node(op, {result.name, values[i].name});
    }
    return result;
  };
}

ExportedValue concat(OnnxLayer& layer) {
  const std::vector<ExportedValue> values = layer.values_in_one_form();
  std::vector<std::string> names;
  for (const ExportedValue& value : values) names.push_back(value.name);
  return {layer.node("Concat", names, {{"axis", std::int64_t{1}}}), values.front().form};
}

ExportedValue flatten(OnnxLayer& layer) {
  return {layer.matrix(), ExportedValue::Form::kMatrix};
}

ExportedValue pass(OnnxLayer& layer) {
  return layer.value();
}

/// Makes zeros for as many samples as the batch has.
ExportedValue zero(OnnxLayer& layer) {
  const space::Shape& output = layer.layer().output;
  const std::string batch =
      layer.node("Shape", {layer.image()}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  const std::string sizes = layer.integers({output.channels, output.height, output.width});
  return {layer.node("Expand", {layer.floats({0}, {1, 1, 1, 1}),
                                layer.node("Concat", {batch, sizes}, {{"axis", std::int64_t{0}}})})};
}

}  // namespace

void add_merge_nodes(OnnxFunctions& functions) {
  functions["add"] = fold("Add");
  functions["concat"] = concat;
  functions["dropout"] = pass;
  functions["flatten"] = flatten;
  functions["identity"] = pass;
  functions["multiply"] = fold("Mul");
  functions["stochastic_depth"] = pass;
  functions["zero"] = zero;
}

}  // namespace skyline::model_export

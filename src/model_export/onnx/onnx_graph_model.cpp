// A network as an ONNX model.
#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "model_export/onnx/onnx_model_builder.hpp"

namespace skyline::model_export {
namespace {

/// Builds the graph layer by layer.
class FloatModel final : public OnnxModelBuilder {
 public:
  explicit FloatModel(const ExportedModel& model) : OnnxModelBuilder(model), network_(model.network) {}

  std::string build() {
    input_ = normalized_input();
    for (const space::Layer& layer : network_.layers) {
      begin(layer);
      values_.push_back(exported_layer());
    }
    return bytes_with_output(values_.back());
  }

  ExportedValue value(std::size_t input) override {
    return layer().inputs.empty() ? input_ : values_.at(layer().inputs.at(input));
  }

 private:
  const space::Network& network_;
  ExportedValue input_;
  std::vector<ExportedValue> values_;  // outputs of the layers so far
};

/// Checks the size: a protocol buffers message has at most 2^31 - 1 bytes. The graph itself is small.
void check_size(const space::Network& network) {
  constexpr std::int64_t kMostWeights = (std::int64_t{1} << 31) - (std::int64_t{1} << 24);
  if (network.cost.weight_bytes <= kMostWeights) return;
  throw UserError("an ONNX file has at most 2 GB, and the weights have " +
                  std::to_string(network.cost.weight_bytes >> 20) +
                  " MiB: export them as safetensors or pytorch");
}

}  // namespace

std::string onnx_bytes(const ExportedModel& model) {
  const std::set<std::string> unknown = kinds_without_export(model.network, Format::kOnnx);
  if (!unknown.empty()) {
    throw UserError("no ONNX for layers of kind " + joined({unknown.begin(), unknown.end()}) +
                    " (register_layer_export)");
  }
  check_size(model.network);
  return FloatModel(model).build();
}

}  // namespace skyline::model_export

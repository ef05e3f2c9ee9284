#pragma once

#include "skyline/space/network.hpp"

#include "model_export/model/exported_model.hpp"
#include "model_export/onnx/onnx_graph.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::model_export {

/// Builds the graph of a model, layer after layer: what models with float32 and with whole numbers share.
class OnnxModelBuilder : public OnnxLayer {
 public:
  const space::Layer& layer() const final { return *layer_; }
  std::string image(std::size_t input) final {
    return as_image(value(input), layer_->input_shapes.at(input));
  }
  std::string matrix(std::size_t input) final { return as_matrix(value(input)); }
  std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims) final;
  std::string floats(const std::vector<float>& values, const std::vector<std::int64_t>& dims) final {
    return constant("constant", dims, values);
  }
  std::string integers(const std::vector<std::int64_t>& values) final {
    return constant("integers", {std::ssize(values)}, values);
  }
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<OnnxAttribute>& attributes) final;

 protected:
  explicit OnnxModelBuilder(const ExportedModel& model);

  /// Begins a layer; names of its nodes begin with its name.
  void begin(const space::Layer& layer);
  /// Begins nodes that are of no layer.
  void begin(const std::string& prefix) { prefix_ = prefix; }
  /// Adds the model's input, the spectrogram of a sound if it takes one, and the normalization.
  ExportedValue normalized_input();
  /// Runs the layer's own export.
  ExportedValue exported_layer() { return find_layer_export(layer_->kind)->onnx(*this); }
  /// Makes a value the model's output. Returns the model as the bytes of a file.
  std::string bytes_with_output(const ExportedValue& value);

  std::string as_image(const ExportedValue& value, const space::Shape& shape);
  std::string as_matrix(const ExportedValue& value);

  /// Adds a constant, which the builder keeps. Returns its name.
  template <typename Value>
  std::string constant(const std::string& what, const std::vector<std::int64_t>& dims,
                       std::vector<Value> values) {
    auto& kept = std::get<std::vector<Value>>(constants_.emplace_back(std::move(values)));
    return constant(what, dims, std::span<const Value>(kept));
  }
  /// Adds a constant whose values outlive the builder. Returns its name.
  template <typename Value>
  std::string constant(const std::string& what, const std::vector<std::int64_t>& dims,
                       std::span<const Value> values) {
    const std::string name = fresh(what);
    graph_.add_tensor(name, dims, values);
    return name;
  }

 private:
  /// Adds nodes that make the spectrogram of the sound `input`. Returns its name.
  std::string spectrogram(const std::string& input, const store::LogMel& of);
  using Constant = std::variant<std::vector<float>, std::vector<std::int64_t>, std::vector<std::int8_t>,
                                std::vector<std::int32_t>, std::vector<double>>;

  /// Returns a new name for something of the layer, e.g. "conv2d_0/Conv".
  std::string fresh(const std::string& what);

  const ExportedModel& model_;
  std::map<std::string, std::span<const float>> tensors_;
  std::deque<Constant> constants_;  // the graph refers to them
  OnnxGraph graph_;
  std::map<std::string, std::string> images_;
  std::map<std::string, std::string> matrices_;
  const space::Layer* layer_ = nullptr;
  std::string prefix_;
  std::map<std::string, int> names_;
};

}  // namespace skyline::model_export

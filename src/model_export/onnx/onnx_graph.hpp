#pragma once

#include "skyline/model_export/layer_export.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::model_export {

/// Types of tensors, as the schema numbers them.
enum OnnxType : std::int64_t { kFloat32 = 1, kInt8 = 3, kInt32 = 6, kInt64 = 7, kFloat64 = 11 };

/// An ONNX graph with one input and one output, while it is built.
class OnnxGraph {
 public:
  /// Values of a tensor, by type.
  using Values =
      std::variant<std::span<const float>, std::span<const std::int64_t>, std::span<const std::int8_t>,
                   std::span<const std::int32_t>, std::span<const double>>;
  /// Adds a tensor that the model holds.
  /// @param dims    empty for a scalar
  /// @param values  must outlive the graph
  void add_tensor(const std::string& name, const std::vector<std::int64_t>& dims, Values values);
  /// Adds a node; it has the name of its output.
  void add_node(const std::string& output, const std::string& op, const std::vector<std::string>& inputs,
                const std::vector<OnnxAttribute>& attributes);
  /// Renames the output of a node.
  void rename(const std::string& from, const std::string& to);

  struct Boundary {
    std::string name;
    std::vector<std::int64_t> dims;  // dimensions after the batch's, which is free
  };
  /// Returns the model as the bytes of a file.
  /// @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
  std::string model_bytes(const Boundary& input, const Boundary& output, const std::string& name,
                          const std::vector<std::pair<std::string, std::string>>& metadata) const;

 private:
  struct Node {
    std::string output;
    std::string op;
    std::vector<std::string> inputs;
    std::vector<OnnxAttribute> attributes;
  };
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> dims;
    Values values;
  };
  std::vector<Node> nodes_;
  std::array<std::vector<Tensor>, std::variant_size_v<Values>> tensors_;  // one list per type
};

}  // namespace skyline::model_export

#pragma once

#include "skyline/model_export/layer_export.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::model_export {

/// An ONNX graph with one input and one output, while it is built.
class OnnxGraph {
 public:
  /// Adds a tensor that the model holds.
  /// @param values  must outlive the graph
  void add_floats(const std::string& name, const std::vector<std::int64_t>& dims,
                  std::span<const float> values);
  void add_integers(const std::string& name, const std::vector<std::int64_t>& values);
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
  struct Floats {
    std::string name;
    std::vector<std::int64_t> dims;
    std::span<const float> values;
  };
  struct Integers {
    std::string name;
    std::vector<std::int64_t> values;
  };
  std::vector<Node> nodes_;
  std::vector<Floats> floats_;
  std::vector<Integers> integers_;
};

}  // namespace skyline::model_export

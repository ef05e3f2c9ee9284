#pragma once

#include "model_export/tflite/flatbuffer.hpp"
#include "model_export/tflite/memory_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skyline::model_export {

/// A built-in operator of TFLite.
struct TfliteOp {
  std::int64_t code = 0;     // BuiltinOperator of the schema
  std::int64_t version = 1;  // the first one whose int8 form does what is written here
  std::uint8_t options = 0;  // BuiltinOptions of the schema
  const char* name = "";     // in TFLite Micro's resolver: "Conv2D" for AddConv2D
  bool operator==(const TfliteOp& other) const { return code == other.code; }
};

/// Types of tensors, with their numbers in the schema.
enum class TfliteType : std::uint8_t { kFloat32 = 0, kInt32 = 2, kInt8 = 9 };

/// A tensor: rows of real values, or whole numbers with scales.
struct TfliteTensor {
  std::string name = {};
  std::vector<std::int32_t> dims = {};
  TfliteType type = TfliteType::kInt8;
  std::vector<float> scales = {};  // one, or one per index of `axis`; empty: no scale
  std::int64_t zero = 0;           // the same for all scales
  std::int32_t axis = 0;
  std::string values = {};  // bytes of a constant; empty for what an operator writes
};

/// Returns the bytes of numbers.
template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// A TFLite model of one graph, while it is built.
/// @see tensorflow/compiler/mlir/lite/schema/schema.fbs of TensorFlow
class TfliteGraph {
 public:
  using Index = std::int32_t;  // number of a tensor

  Index add_tensor(TfliteTensor tensor);
  /// Adds an operator with one output.
  void add_operator(const TfliteOp& op, const std::vector<Index>& inputs, Index output,
                    const FlatTable& options = {});
  const TfliteTensor& tensor(Index index) const { return tensors_.at(static_cast<std::size_t>(index)); }

  /// Returns the model as the bytes of a file, with the plan of its memory for TFLite Micro.
  std::string model_bytes(Index input, Index output, const std::string& description) const;
  /// Returns the operators that the model has, each once.
  std::vector<TfliteOp> ops() const;
  /// Returns where the tensors that operators write lie in memory, and the input, each from a multiple of 16.
  MemoryPlan plan(Index input, Index output) const;
  /// Returns how much memory a runtime needs beside these bytes, rather too much than too little.
  std::size_t runtime_bytes() const;

 private:
  struct Operator {
    TfliteOp op;
    std::vector<Index> inputs;
    Index output = 0;
    FlatTable options;
  };
  std::vector<TfliteTensor> tensors_;
  std::vector<Operator> operators_;
};

}  // namespace skyline::model_export

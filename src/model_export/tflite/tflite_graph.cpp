#include "model_export/tflite/tflite_graph.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace skyline::model_export {
namespace {

constexpr std::size_t kAlignment = 16;  // alignment of values, in the file and in memory

// Field numbers of the schema.
enum ModelField : std::uint16_t { kVersion, kCodes, kGraphs, kDescription, kBuffers, kMetadata = 6 };
enum MetadataField : std::uint16_t { kMetadataName, kMetadataBuffer };
enum CodeField : std::uint16_t { kOldCode, kOpVersion = 2, kCode };
enum GraphField : std::uint16_t { kTensors, kGraphInputs, kGraphOutputs, kOperators, kGraphName };
enum TensorField : std::uint16_t { kDims, kType, kBuffer, kTensorName, kQuantization };
enum QuantizationField : std::uint16_t { kScale = 2, kZero, kAxis = 6 };
enum OperatorField : std::uint16_t { kOpcode, kInputs, kOutputs, kOptionsType, kOptions };

FlatTable tensor_table(const TfliteTensor& tensor, std::size_t buffer) {
  FlatTable table;
  table.add_numbers(kDims, std::span<const std::int32_t>(tensor.dims));
  table.add_byte(kType, static_cast<std::uint8_t>(tensor.type));
  table.add_integer(kBuffer, static_cast<std::int64_t>(buffer));
  table.add_text(kTensorName, tensor.name);
  if (tensor.scales.empty()) return table;
  FlatTable quantization;
  const std::vector<std::int64_t> zeros(tensor.scales.size(), tensor.zero);
  quantization.add_numbers(kScale, std::span<const float>(tensor.scales));
  quantization.add_numbers(kZero, std::span<const std::int64_t>(zeros));
  quantization.add_integer(kAxis, tensor.axis);
  table.add_table(kQuantization, std::move(quantization));
  return table;
}

FlatTable code_table(const TfliteOp& op) {
  constexpr std::int64_t kMostOldCodes = 127;
  FlatTable table;
  table.add_byte(kOldCode, static_cast<std::uint8_t>(std::min(op.code, kMostOldCodes)));
  table.add_integer(kOpVersion, op.version);
  table.add_integer(kCode, op.code);
  return table;
}

FlatTable buffer_table(const std::string& values) {
  FlatTable table;
  table.add_numbers(0, std::span<const char>(values), kAlignment);
  return table;
}

/// Returns a plan in TFLite Micro's format: version, graphs, tensors, and the place of each tensor. The place
/// of a constant is not read.
std::string plan_bytes(const MemoryPlan& plan) {
  std::vector<std::int32_t> numbers{1, 1, static_cast<std::int32_t>(plan.offsets.size())};
  for (const std::size_t offset : plan.offsets) numbers.push_back(static_cast<std::int32_t>(offset));
  return bytes_of(numbers);
}

std::size_t value_bytes(TfliteType type) {
  return type == TfliteType::kInt8 ? 1 : sizeof(float);
}

std::size_t bytes_in_memory(const TfliteTensor& tensor) {
  const auto count = static_cast<std::size_t>(
      std::accumulate(tensor.dims.begin(), tensor.dims.end(), std::int64_t{1}, std::multiplies<>()));
  return (count * value_bytes(tensor.type) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

TfliteGraph::Index TfliteGraph::add_tensor(TfliteTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return static_cast<Index>(tensors_.size() - 1);
}

void TfliteGraph::add_operator(const TfliteOp& op, const std::vector<Index>& inputs, Index output,
                               const FlatTable& options) {
  operators_.push_back({op, inputs, output, options});
}

std::string TfliteGraph::model_bytes(Index input, Index output, const std::string& description) const {
  const std::vector<TfliteOp> used = ops();
  std::vector<FlatTable> codes;
  for (const TfliteOp& op : used) codes.push_back(code_table(op));
  std::vector<FlatTable> buffers(1);  // the first one is empty, for tensors that operators write
  std::vector<FlatTable> tensors;
  for (const TfliteTensor& tensor : tensors_) {
    tensors.push_back(tensor_table(tensor, tensor.values.empty() ? 0 : buffers.size()));
    if (!tensor.values.empty()) buffers.push_back(buffer_table(tensor.values));
  }
  std::vector<FlatTable> operators;
  for (const Operator& each : operators_) {
    FlatTable& table = operators.emplace_back();
    table.add_integer(kOpcode, std::ranges::find(used, each.op) - used.begin());
    table.add_numbers(kInputs, std::span<const Index>(each.inputs));
    table.add_numbers(kOutputs, std::span<const Index>(&each.output, 1));
    if (each.op.options == 0) continue;
    table.add_byte(kOptionsType, each.op.options);
    table.add_table(kOptions, each.options);
  }
  FlatTable metadata;
  metadata.add_text(kMetadataName, "OfflineMemoryAllocation");
  metadata.add_integer(kMetadataBuffer, std::ssize(buffers));
  buffers.push_back(buffer_table(plan_bytes(plan(input, output))));
  FlatTable graph;
  graph.add_tables(kTensors, std::move(tensors));
  graph.add_numbers(kGraphInputs, std::span<const Index>(&input, 1));
  graph.add_numbers(kGraphOutputs, std::span<const Index>(&output, 1));
  graph.add_tables(kOperators, std::move(operators));
  graph.add_text(kGraphName, "main");
  constexpr std::int64_t kSchemaVersion = 3;
  FlatTable model;
  model.add_integer(kVersion, kSchemaVersion);
  model.add_tables(kCodes, std::move(codes));
  model.add_tables(kGraphs, {std::move(graph)});
  model.add_text(kDescription, description);
  model.add_tables(kBuffers, std::move(buffers));
  model.add_tables(kMetadata, {std::move(metadata)});
  return model.file_bytes("TFL3");
}

std::vector<TfliteOp> TfliteGraph::ops() const {
  std::vector<TfliteOp> used;
  for (const Operator& each : operators_) {
    if (std::ranges::find(used, each.op) == used.end()) used.push_back(each.op);
  }
  return used;
}

MemoryPlan TfliteGraph::plan(Index input, Index output) const {
  std::vector<TensorLife> lives(tensors_.size());
  const auto life = [&](Index tensor) -> TensorLife& { return lives[static_cast<std::size_t>(tensor)]; };
  life(input).bytes = bytes_in_memory(tensor(input));
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    for (const Index each : operators_[i].inputs) life(each).last = i;
    life(operators_[i].output) = {bytes_in_memory(tensor(operators_[i].output)), i, i};
  }
  life(output).last = std::max<std::size_t>(operators_.size(), 1) - 1;
  return memory_plan(lives);
}

std::size_t TfliteGraph::runtime_bytes() const {
  constexpr std::size_t kBase = 2048;
  constexpr std::size_t kOfTensor = 32;
  constexpr std::size_t kOfOperator = 192;
  constexpr std::size_t kOfScale = 8;
  std::size_t bytes = kBase + kOfTensor * tensors_.size() + kOfOperator * operators_.size();
  for (const TfliteTensor& each : tensors_) bytes += kOfScale * each.scales.size();
  return bytes;
}

}  // namespace skyline::model_export

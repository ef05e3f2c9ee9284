#include "model_export/onnx/onnx_graph.hpp"

#include "core/text/protobuf_writer.hpp"
#include "model_export/model/exported_model.hpp"

#include <algorithm>

namespace skyline::model_export {
namespace {

constexpr std::int64_t kIrVersion = 8;  // the first version that allows opset 17

// Field numbers of the schema.
enum ModelField : std::uint32_t {
  kIr = 1,
  kProducer,
  kProducerVersion,
  kModelGraph = 7,
  kOpsets,
  kMetadata = 14
};
enum GraphField : std::uint32_t { kNode = 1, kGraphName, kInitializer = 5, kGraphInput = 11, kGraphOutput };
enum NodeField : std::uint32_t { kInput = 1, kOutput, kNodeName, kOpType, kAttribute };
enum AttributeField : std::uint32_t { kAttributeName = 1, kFloat, kInteger, kIntegers = 8, kType = 20 };
enum TensorField : std::uint32_t { kDims = 1, kDataType, kTensorName = 8, kRawData };
// Enumeration values of the schema.
enum AttributeType : std::int64_t { kIsFloat = 1, kIsInteger = 2, kIsIntegers = 7 };

ProtobufWriter attribute_message(const OnnxAttribute& attribute) {
  ProtobufWriter message;
  message.add_text(kAttributeName, attribute.name);
  if (const auto* number = std::get_if<float>(&attribute.value)) {
    message.add_float(kFloat, *number);
    message.add_integer(kType, kIsFloat);
  } else if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    message.add_integer(kInteger, *integer);
    message.add_integer(kType, kIsInteger);
  } else {
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(attribute.value)) {
      message.add_integer(kIntegers, each);
    }
    message.add_integer(kType, kIsIntegers);
  }
  return message;
}

constexpr OnnxType type_of(float /*value*/) {
  return kFloat32;
}
constexpr OnnxType type_of(std::int8_t /*value*/) {
  return kInt8;
}
constexpr OnnxType type_of(std::int32_t /*value*/) {
  return kInt32;
}
constexpr OnnxType type_of(std::int64_t /*value*/) {
  return kInt64;
}
constexpr OnnxType type_of(double /*value*/) {
  return kFloat64;
}

template <typename Value>
ProtobufWriter tensor_message(const std::string& name, const std::vector<std::int64_t>& dims,
                              std::span<const Value> values) {
  ProtobufWriter message;
  for (const std::int64_t dim : dims) message.add_integer(kDims, dim);
  message.add_integer(kDataType, type_of(Value{}));
  message.add_text(kTensorName, name);
  message.add_text(kRawData, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  return message;
}

/// Returns the ValueInfoProto of a float32 tensor. Its levels are type, tensor type, shape, dimension.
ProtobufWriter boundary_message(const OnnxGraph::Boundary& boundary) {
  ProtobufWriter batch;
  batch.add_text(2, "batch");
  ProtobufWriter shape;
  shape.add_message(1, batch);
  for (const std::int64_t size : boundary.dims) {
    ProtobufWriter dimension;
    dimension.add_integer(1, size);
    shape.add_message(1, dimension);
  }
  ProtobufWriter tensor_type;
  tensor_type.add_integer(1, kFloat32);
  tensor_type.add_message(2, shape);
  ProtobufWriter type;
  type.add_message(1, tensor_type);
  ProtobufWriter message;
  message.add_text(1, boundary.name);
  message.add_message(2, type);
  return message;
}

}  // namespace

void OnnxGraph::add_tensor(const std::string& name, const std::vector<std::int64_t>& dims, Values values) {
  tensors_.at(values.index()).push_back({name, dims, values});
}

void OnnxGraph::add_node(const std::string& output, const std::string& op,
                         const std::vector<std::string>& inputs,
                         const std::vector<OnnxAttribute>& attributes) {
  nodes_.push_back({output, op, inputs, attributes});
}

void OnnxGraph::rename(const std::string& from, const std::string& to) {
  for (Node& node : nodes_) {
    std::ranges::replace(node.inputs, from, to);
    if (node.output == from) node.output = to;
  }
}

std::string OnnxGraph::model_bytes(const Boundary& input, const Boundary& output, const std::string& name,
                                   const std::vector<std::pair<std::string, std::string>>& metadata) const {
  ProtobufWriter graph;
  for (const Node& node : nodes_) {
    ProtobufWriter message;
    for (const std::string& each : node.inputs) message.add_text(kInput, each);
    message.add_text(kOutput, node.output);
    message.add_text(kNodeName, node.output);
    message.add_text(kOpType, node.op);
    for (const OnnxAttribute& each : node.attributes)
      message.add_message(kAttribute, attribute_message(each));
    graph.add_message(kNode, message);
  }
  graph.add_text(kGraphName, name);
  for (const std::vector<Tensor>& of_type : tensors_) {
    for (const Tensor& each : of_type) {
      graph.add_message(
          kInitializer,
          std::visit([&](auto values) { return tensor_message(each.name, each.dims, values); }, each.values));
    }
  }
  graph.add_message(kGraphInput, boundary_message(input));
  graph.add_message(kGraphOutput, boundary_message(output));

  ProtobufWriter model;
  model.add_integer(kIr, kIrVersion);
  model.add_text(kProducer, "Skyline");
  model.add_message(kModelGraph, graph);
  ProtobufWriter opset;
  opset.add_text(1, "");
  opset.add_integer(2, kOnnxOpset);
  model.add_message(kOpsets, opset);
  for (const auto& [key, value] : metadata) {
    ProtobufWriter entry;
    entry.add_text(1, key);
    entry.add_text(2, value);
    model.add_message(kMetadata, entry);
    if (key == "skyline_version") model.add_text(kProducerVersion, value);
  }
  return model.bytes();
}

}  // namespace skyline::model_export

#include "skyline/core/config_node.hpp"

#include "core/config/config_text.hpp"
#include "core/text/protobuf_writer.hpp"
#include "model_export/model/exported_model.hpp"

#include <bit>
#include <cstdint>

namespace skyline::model_export {
namespace {

ConfigNode text_node(const std::string& text) {
  return ConfigNode::make_scalar(text, {}, true);
}

ConfigNode list_node(const std::vector<std::int64_t>& numbers) {
  std::vector<ConfigNode> items;
  for (const std::int64_t number : numbers) items.push_back(ConfigNode::make_integer(number));
  return ConfigNode::make_list(std::move(items), {});
}

/// Returns the header: names, types and places of the tensors. Padding aligns the values after it.
std::string header_of(const ExportedModel& model) {
  std::vector<ConfigNode::Entry> metadata;
  for (const auto& [name, value] : model.metadata) metadata.push_back({name, text_node(value), {}});
  std::vector<ConfigNode::Entry> entries{{"__metadata__", ConfigNode::make_map(std::move(metadata), {}), {}}};
  std::int64_t begin = 0;
  for (const auto& tensor : model.weights.tensors) {
    const std::int64_t end = begin + static_cast<std::int64_t>(tensor.values.size() * sizeof(float));
    entries.push_back({tensor.name,
                       ConfigNode::make_map({{"dtype", text_node("F32"), {}},
                                             {"shape", list_node(tensor.dims), {}},
                                             {"data_offsets", list_node({begin, end}), {}}},
                                            {}),
                       {}});
    begin = end;
  }
  std::string header = to_json(ConfigNode::make_map(std::move(entries), {}));
  constexpr std::size_t kAlignment = 8;
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return header;
}

}  // namespace

std::string safetensors_bytes(const ExportedModel& model) {
  static_assert(std::endian::native == std::endian::little);
  const std::string header = header_of(model);
  std::string bytes;
  append_little_endian(bytes, std::uint64_t{header.size()});
  bytes += header;
  for (const auto& tensor : model.weights.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
  }
  return bytes;
}

}  // namespace skyline::model_export

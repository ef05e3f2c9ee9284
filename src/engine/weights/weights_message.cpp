#include "engine/weights/weights_message.hpp"

#include "skyline/core/error.hpp"

#include <cstring>
#include <type_traits>

namespace skyline::engine {
namespace {

/// Precedes a tensor's name, dims and values.
struct TensorHeader {
  std::uint64_t name_bytes = 0;
  std::uint64_t dims = 0;
  std::uint64_t values = 0;
};

class Writer {
 public:
  explicit Writer(std::span<std::byte> place) : place_(place) {}
  template <typename Value>
  void put(std::span<const Value> values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const auto bytes = std::as_bytes(values);
    if (bytes.empty()) return;
    std::memcpy(place_.data(), bytes.data(), bytes.size());
    place_ = place_.subspan(bytes.size());
  }

 private:
  std::span<std::byte> place_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> rest) : rest_(rest) {}
  template <typename Value>
  void take(std::span<Value> values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (values.empty()) return;
    std::memcpy(values.data(), rest_.data(), values.size_bytes());
    rest_ = rest_.subspan(values.size_bytes());
  }
  /// Checks a count before memory is allocated for it.
  void expect(std::uint64_t count, std::size_t each) const {
    require(count <= rest_.size() / each, "a message of weights is cut off");
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::size_t message_bytes(std::span<const trial::NamedTensor> tensors) {
  std::size_t bytes = sizeof(WeightsHeader);
  for (const trial::NamedTensor& tensor : tensors) {
    bytes += sizeof(TensorHeader) + tensor.name.size() + tensor.dims.size() * sizeof(std::int64_t) +
             tensor.values.size() * sizeof(float);
  }
  return bytes;
}

void write_message(WeightsHeader header, std::span<const trial::NamedTensor> tensors, comm::Buffer& message) {
  require(message.bytes().size() == message_bytes(tensors), "a message of weights of the wrong size");
  header.tensors = static_cast<std::uint32_t>(tensors.size());
  Writer writer(message.bytes());
  writer.put(std::span<const WeightsHeader>(&header, 1));
  for (const trial::NamedTensor& tensor : tensors) {
    const TensorHeader sizes{tensor.name.size(), tensor.dims.size(), tensor.values.size()};
    writer.put(std::span<const TensorHeader>(&sizes, 1));
    writer.put(std::span<const char>(tensor.name));
    writer.put(std::span<const std::int64_t>(tensor.dims));
    writer.put(std::span<const float>(tensor.values));
  }
}

WeightsHeader weights_header_of(const comm::Buffer& message) {
  Reader reader(message.bytes());
  reader.expect(1, sizeof(WeightsHeader));
  WeightsHeader header;
  reader.take(std::span(&header, 1));
  return header;
}

std::vector<trial::NamedTensor> tensors_of(const comm::Buffer& message) {
  Reader reader(message.bytes());
  WeightsHeader header;
  reader.expect(1, sizeof header);
  reader.take(std::span(&header, 1));
  reader.expect(header.tensors, sizeof(TensorHeader));
  std::vector<trial::NamedTensor> tensors(header.tensors);
  for (trial::NamedTensor& tensor : tensors) {
    TensorHeader sizes;
    reader.expect(1, sizeof sizes);
    reader.take(std::span(&sizes, 1));
    reader.expect(sizes.name_bytes, 1);
    tensor.name.resize(sizes.name_bytes);
    reader.take(std::span(tensor.name));
    reader.expect(sizes.dims, sizeof(std::int64_t));
    tensor.dims.resize(sizes.dims);
    reader.take(std::span(tensor.dims));
    reader.expect(sizes.values, sizeof(float));
    tensor.values.resize(sizes.values);
    reader.take(std::span(tensor.values));
  }
  return tensors;
}

}  // namespace skyline::engine

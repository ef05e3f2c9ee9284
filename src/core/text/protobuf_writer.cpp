#include "core/text/protobuf_writer.hpp"

#include <bit>

namespace skyline {
namespace {

template <typename Number>
void append_bytes(std::string& bytes, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFFU));
}

}  // namespace

void append_little_endian(std::string& bytes, std::uint32_t value) {
  append_bytes(bytes, value);
}

void append_little_endian(std::string& bytes, std::uint64_t value) {
  append_bytes(bytes, value);
}

void ProtobufWriter::add_varint(std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  for (; value >= kMore; value >>= 7U) bytes_.push_back(static_cast<char>((value & 0x7FU) | kMore));
  bytes_.push_back(static_cast<char>(value));
}

void ProtobufWriter::add_tag(std::uint32_t field, WireType type) {
  add_varint(std::uint64_t{field} << 3U | static_cast<std::uint64_t>(type));
}

void ProtobufWriter::add_integer(std::uint32_t field, std::int64_t value) {
  add_tag(field, WireType::kVarint);
  add_varint(static_cast<std::uint64_t>(value));
}

void ProtobufWriter::add_double(std::uint32_t field, double value) {
  add_tag(field, WireType::kFixed64);
  append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
}

void ProtobufWriter::add_float(std::uint32_t field, float value) {
  add_tag(field, WireType::kFixed32);
  append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
}

void ProtobufWriter::add_text(std::uint32_t field, std::string_view text) {
  add_tag(field, WireType::kLength);
  add_varint(text.size());
  bytes_.append(text);
}

}  // namespace skyline

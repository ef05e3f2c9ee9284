#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skyline {

/// Writes one protocol buffers message in its wire format, field after field; field numbers are the schema's.
/// @see https://protobuf.dev/programming-guides/encoding
class ProtobufWriter {
 public:
  /// Adds an int32, int64, uint32, bool or enum.
  void add_integer(std::uint32_t field, std::int64_t value);
  void add_double(std::uint32_t field, double value);
  void add_float(std::uint32_t field, float value);
  /// Adds a string or bytes.
  void add_text(std::uint32_t field, std::string_view text);
  void add_message(std::uint32_t field, const ProtobufWriter& message) { add_text(field, message.bytes()); }
  /// Returns the message so far, without its length.
  const std::string& bytes() const { return bytes_; }

 private:
  enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
  void add_tag(std::uint32_t field, WireType type);
  void add_varint(std::uint64_t value);

  std::string bytes_;
};

/// Appends the number's bytes, lowest first.
void append_little_endian(std::string& bytes, std::uint32_t value);
void append_little_endian(std::string& bytes, std::uint64_t value);

}  // namespace skyline

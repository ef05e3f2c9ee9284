#include "core/text/protobuf_writer.hpp"

#include <gtest/gtest.h>

namespace skyline {
namespace {

std::string hex(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += {kDigits[value >> 4U], kDigits[value & 0xFU]};
  }
  return text;
}

// The examples of the encoding's own guide: a = 150 in field 1, "testing" in field 2, a message in field 3.
TEST(ProtobufWriter, WritesTheGuidesExamples) {
  ProtobufWriter integer;
  integer.add_integer(1, 150);
  EXPECT_EQ(hex(integer.bytes()), "089601");
  ProtobufWriter text;
  text.add_text(2, "testing");
  EXPECT_EQ(hex(text.bytes()), "120774657374696e67");
  ProtobufWriter outer;
  outer.add_message(3, integer);
  EXPECT_EQ(hex(outer.bytes()), "1a03089601");
}

TEST(ProtobufWriter, WritesNumbersOfFixedSizeLowestByteFirst) {
  ProtobufWriter writer;
  writer.add_double(1, 1.0);
  writer.add_float(2, -2.0F);
  EXPECT_EQ(hex(writer.bytes()), "09000000000000f03f15000000c0");
}

TEST(ProtobufWriter, WritesNegativeIntegersInTenBytes) {
  ProtobufWriter writer;
  writer.add_integer(2, -2);
  EXPECT_EQ(hex(writer.bytes()), "10feffffffffffffffff01");
}

TEST(ProtobufWriter, WritesLargeFieldNumbersAndLongTexts) {
  ProtobufWriter writer;
  writer.add_text(16, std::string(300, 'x'));
  EXPECT_EQ(hex(writer.bytes()).substr(0, 8), "8201ac02");
  EXPECT_EQ(writer.bytes().size(), 304U);
}

}  // namespace
}  // namespace skyline

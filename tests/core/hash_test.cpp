#include "core/text/hash.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(Hash, AgreesWithThePublishedDigests) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Hash, Crc32cHasTheValuesOfRfc3720) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
}

TEST(Hash, BytesAndTextHashAlike) {
  const std::array<std::byte, 3> bytes{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  EXPECT_EQ(sha256_hex(std::span<const std::byte>(bytes)), sha256_hex("abc"));
}

TEST(Hash, PiecesHashAsTheWhole) {
  const std::array<std::byte, 3> bytes{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  const auto whole = std::span<const std::byte>(bytes);
  const std::array pieces{whole.first(1), whole.subspan(1, 0), whole.subspan(1)};
  EXPECT_EQ(sha256_hex(pieces), sha256_hex("abc"));
}

TEST(Hash, LongBytesHashAsTheWholeUnlessAStopIsAskedFor) {
  std::vector<std::byte> bytes((std::size_t{40} << 20) + 1);
  for (std::size_t i = 0; i < bytes.size(); i += 4096) bytes[i] = static_cast<std::byte>(i >> 12);
  int asked = 0;
  const auto never = [&] { return ++asked < 0; };
  const auto whole = std::span<const std::byte>(bytes);
  EXPECT_EQ(checksum(bytes, never), checksum(HashPieces(&whole, 1)));
  EXPECT_EQ(asked, 3) << "once a piece";
  EXPECT_EQ(checksum(bytes, [&] { return --asked == 0; }), std::nullopt) << "in its middle";
}

// printf 'The quick brown fox' | xxh128sum
TEST(Hash, ChecksumIsWhatXxh128sumPrints) {
  const std::string_view text = "The quick brown fox";
  const auto bytes = std::as_bytes(std::span(text));
  const std::array pieces{bytes.first(5), bytes.subspan(5, 0), bytes.subspan(5)};
  EXPECT_EQ(checksum(pieces), "b2c100c26f5d723ab7859350537dfedc");
  EXPECT_EQ(checksum(text), checksum(pieces));
  EXPECT_EQ(checksum(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, StableHashIsTheBigEndianStartOfSha256) {
  EXPECT_EQ(stable_hash64("abc"), 0xba7816bf8f01cfeaU);
}

TEST(Hash, HexHasSixteenDigits) {
  EXPECT_EQ(to_hex(0), "0000000000000000");
  EXPECT_EQ(to_hex(0x0123456789abcdefU), "0123456789abcdef");
}

}  // namespace
}  // namespace skyline

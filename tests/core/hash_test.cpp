#include "skyline/core/hash.hpp"

#include <array>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(Hash, AgreesWithThePublishedDigests) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
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

TEST(Hash, StableHashIsTheBigEndianStartOfSha256) {
  EXPECT_EQ(stable_hash64("abc"), 0xba7816bf8f01cfeaU);
}

TEST(Hash, HexHasSixteenDigits) {
  EXPECT_EQ(to_hex(0), "0000000000000000");
  EXPECT_EQ(to_hex(0x0123456789abcdefU), "0123456789abcdef");
}

}  // namespace
}  // namespace skyline

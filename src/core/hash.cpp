#include "skyline/core/hash.hpp"

#include "skyline/core/error.hpp"

#include <vector>

#include <openssl/evp.h>

namespace skyline {
namespace {

using Digest = std::vector<unsigned char>;

Digest digest(const EVP_MD* algorithm, const void* data, std::size_t size) {
  Digest result(EVP_MAX_MD_SIZE);
  unsigned int length = 0;
  require(EVP_Digest(data, size, result.data(), &length, algorithm, nullptr) == 1, "EVP_Digest failed");
  result.resize(length);
  return result;
}

std::string hex(const Digest& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::uint64_t stable_hash64(std::string_view text) {
  const Digest bytes = digest(EVP_sha256(), text.data(), text.size());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) value = (value << 8) | bytes[i];
  return value;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  return hex(digest(EVP_sha256(), bytes.data(), bytes.size()));
}

std::string sha256_hex(std::string_view text) {
  return hex(digest(EVP_sha256(), text.data(), text.size()));
}

std::string sha1_hex(std::string_view text) {
  return hex(digest(EVP_sha1(), text.data(), text.size()));
}

std::string to_hex(std::uint64_t value) {
  Digest bytes(sizeof(value));
  for (std::size_t i = bytes.size(); i > 0; --i, value >>= 8) {
    bytes[i - 1] = static_cast<unsigned char>(value & 0xff);
  }
  return hex(bytes);
}

}  // namespace skyline

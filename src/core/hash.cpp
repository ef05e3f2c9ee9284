#include "skyline/core/hash.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/unique_handle.hpp"

#include <vector>

#include <openssl/evp.h>

namespace skyline {
namespace {

using Digest = std::vector<unsigned char>;

struct ContextTraits {
  using Type = EVP_MD_CTX*;
  static constexpr Type kNull = nullptr;
  static void close(Type context) noexcept { EVP_MD_CTX_free(context); }
};

Digest digest(const EVP_MD* algorithm, std::span<const std::span<const std::byte>> pieces) {
  const UniqueHandle<ContextTraits> context(EVP_MD_CTX_new());
  Digest result(EVP_MAX_MD_SIZE);
  unsigned int length = 0;
  bool good = context && EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1;
  for (const std::span<const std::byte> piece : pieces) {
    good = good && EVP_DigestUpdate(context.get(), piece.data(), piece.size()) == 1;
  }
  require(good && EVP_DigestFinal_ex(context.get(), result.data(), &length) == 1, "EVP_Digest failed");
  result.resize(length);
  return result;
}

Digest digest(const EVP_MD* algorithm, std::span<const std::byte> bytes) {
  return digest(algorithm, std::span(&bytes, 1));
}

Digest digest(const EVP_MD* algorithm, std::string_view text) {
  return digest(algorithm, std::as_bytes(std::span(text)));
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
  const Digest bytes = digest(EVP_sha256(), text);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) value = (value << 8) | bytes[i];
  return value;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  return hex(digest(EVP_sha256(), bytes));
}

std::string sha256_hex(std::string_view text) {
  return hex(digest(EVP_sha256(), text));
}

std::string sha256_hex(std::span<const std::span<const std::byte>> pieces) {
  return hex(digest(EVP_sha256(), pieces));
}

std::string sha1_hex(std::string_view text) {
  return hex(digest(EVP_sha1(), text));
}

std::string to_hex(std::uint64_t value) {
  Digest bytes(sizeof(value));
  for (std::size_t i = bytes.size(); i > 0; --i, value >>= 8) {
    bytes[i - 1] = static_cast<unsigned char>(value & 0xff);
  }
  return hex(bytes);
}

}  // namespace skyline

#include "core/text/hash.hpp"

#include "skyline/core/error.hpp"

#include "core/unique_handle.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <openssl/evp.h>

namespace skyline {
namespace {

using Digest = std::vector<unsigned char>;

// Part of the format of files that carry such a checksum.
constexpr std::array<unsigned char, 16> kChecksumKey{'s', 'k', 'y', 'l', 'i', 'n', 'e', ' ',
                                                     'c', 'h', 'e', 'c', 'k', 's', 'u', 'm'};
constexpr std::array<unsigned char, 12> kChecksumNonce{};

struct ContextTraits {
  using Type = EVP_MD_CTX*;
  static constexpr Type kNull = nullptr;
  static void close(Type context) noexcept { EVP_MD_CTX_free(context); }
};

/// A digest of bytes that come in pieces.
class Digester {
 public:
  explicit Digester(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new()) {
    require(context_ && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1, kFailed);
  }
  void add(std::span<const std::byte> piece) {
    require(EVP_DigestUpdate(context_.get(), piece.data(), piece.size()) == 1, kFailed);
  }
  Digest finish() {
    Digest result(EVP_MAX_MD_SIZE);
    unsigned int length = 0;
    require(EVP_DigestFinal_ex(context_.get(), result.data(), &length) == 1, kFailed);
    result.resize(length);
    return result;
  }

 private:
  static constexpr const char* kFailed = "EVP_Digest failed";
  UniqueHandle<ContextTraits> context_;
};

Digest digest(const EVP_MD* algorithm, HashPieces pieces) {
  Digester digester(algorithm);
  for (const std::span<const std::byte> piece : pieces) digester.add(piece);
  return digester.finish();
}

struct CipherTraits {
  using Type = EVP_CIPHER_CTX*;
  static constexpr Type kNull = nullptr;
  static void close(Type context) noexcept { EVP_CIPHER_CTX_free(context); }
};

/// Authenticated and not encrypted data alone.
bool add_to_gmac(EVP_CIPHER_CTX* context, std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // the library counts in int
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMost));
    int length = 0;
    if (EVP_EncryptUpdate(context, nullptr, &length, reinterpret_cast<const unsigned char*>(part.data()),
                          static_cast<int>(part.size())) != 1) {
      return false;
    }
    bytes = bytes.subspan(part.size());
  }
  return true;
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

std::string sha256_hex(HashPieces pieces) {
  return hex(digest(EVP_sha256(), pieces));
}

std::optional<std::string> sha256_hex(std::span<const std::byte> bytes,
                                      const std::function<bool()>& stop_requested) {
  constexpr std::size_t kPieceBytes = std::size_t{16}
                                      << 20;  // a blink from a disk, less than a second from NFS
  Digester digester(EVP_sha256());
  while (!bytes.empty()) {
    if (stop_requested()) return std::nullopt;
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    digester.add(piece);
    bytes = bytes.subspan(piece.size());
  }
  return hex(digester.finish());
}

std::string checksum128_hex(HashPieces pieces) {
  const UniqueHandle<CipherTraits> context(EVP_CIPHER_CTX_new());
  bool good = context && EVP_EncryptInit_ex(context.get(), EVP_aes_128_gcm(), nullptr, kChecksumKey.data(),
                                            kChecksumNonce.data()) == 1;
  for (const std::span<const std::byte> piece : pieces) good = good && add_to_gmac(context.get(), piece);
  Digest tag(16);
  int length = 0;
  good =
      good && EVP_EncryptFinal_ex(context.get(), tag.data(), &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1;
  require(good, "the checksum failed");
  return hex(tag);
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

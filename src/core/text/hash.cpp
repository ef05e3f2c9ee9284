#include "core/text/hash.hpp"

#include "skyline/core/error.hpp"

#include "core/system/unique_handle.hpp"
#include "core/text/running_hash.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <openssl/evp.h>
#include <xxhash.h>

namespace skyline {

// The parts of RunningHash are not in the unnamed namespace: a class with linkage must not hold types
// without.

using Digest = std::vector<unsigned char>;

struct ContextTraits {
  using Type = EVP_MD_CTX*;
  static constexpr Type kNull = nullptr;
  static void close(Type context) noexcept { EVP_MD_CTX_free(context); }
};

/// A digest of bytes that arrive in pieces.
class RunningDigest {
 public:
  explicit RunningDigest(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new()) {
    check(context_ && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1);
  }
  RunningDigest(const RunningDigest& other) : context_(EVP_MD_CTX_new()) {
    check(context_ && EVP_MD_CTX_copy_ex(context_.get(), other.context_.get()) == 1);
  }
  RunningDigest& operator=(const RunningDigest&) = delete;
  void add(std::span<const std::byte> piece) {
    check(EVP_DigestUpdate(context_.get(), piece.data(), piece.size()) == 1);
  }
  Digest finish() {
    Digest result(EVP_MAX_MD_SIZE);
    unsigned int length = 0;
    check(EVP_DigestFinal_ex(context_.get(), result.data(), &length) == 1);
    result.resize(length);
    return result;
  }

 private:
  static void check(bool good) { require(good, "EVP_Digest failed"); }

  UniqueHandle<ContextTraits> context_;
};

/// Returns a SHA-256 of nothing so far. It copies one that has begun, because OpenSSL 3 looks the algorithm
/// up at each start, which takes longer than hashing a short text. The original is never destroyed: threads
/// may hash until the program ends.
RunningDigest begun_sha256() {
  static const RunningDigest& begun = *new RunningDigest(EVP_sha256());
  return begun;
}

/// A checksum of bytes that arrive in pieces.
class Checksum {
 public:
  Checksum() { XXH3_128bits_reset(&state_); }
  void add(std::span<const std::byte> piece) { XXH3_128bits_update(&state_, piece.data(), piece.size()); }
  std::string hex() const {
    const XXH128_hash_t sum = XXH3_128bits_digest(&state_);
    return to_hex(sum.high64) + to_hex(sum.low64);
  }

 private:
  XXH3_state_t state_;
};

namespace {

Digest digest(RunningDigest running, HashPieces pieces) {
  for (const std::span<const std::byte> piece : pieces) running.add(piece);
  return running.finish();
}

Digest digest(RunningDigest running, std::string_view text) {
  running.add(std::as_bytes(std::span(text)));
  return running.finish();
}

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hex(const Digest& bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's polynomial, bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kPolynomial : 0U);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint64_t stable_hash64(std::string_view text) {
  const Digest bytes = digest(begun_sha256(), text);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) value = (value << 8) | bytes[i];
  return value;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  return sha256_hex(HashPieces(&bytes, 1));
}

std::string sha256_hex(std::string_view text) {
  return hex(digest(begun_sha256(), text));
}

std::string sha256_hex(HashPieces pieces) {
  return hex(digest(begun_sha256(), pieces));
}

std::string sha1_hex(std::string_view text) {
  return hex(digest(RunningDigest(EVP_sha1()), text));
}

std::string checksum(HashPieces pieces) {
  Checksum sum;
  for (const std::span<const std::byte> piece : pieces) sum.add(piece);
  return sum.hex();
}

std::string checksum(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return checksum(HashPieces(&bytes, 1));
}

std::optional<std::string> checksum(std::span<const std::byte> bytes,
                                    const std::function<bool()>& stop_requested) {
  constexpr std::size_t kPieceBytes = std::size_t{16} << 20;  // hashed in less than a second, from NFS too
  Checksum sum;
  while (!bytes.empty()) {
    if (stop_requested()) return std::nullopt;
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    sum.add(piece);
    bytes = bytes.subspan(piece.size());
  }
  return sum.hex();
}

struct RunningHash::State {
  RunningDigest sha256 = begun_sha256();
  Checksum checksum;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) {}
RunningHash::~RunningHash() = default;
RunningHash::RunningHash(RunningHash&&) noexcept = default;
RunningHash& RunningHash::operator=(RunningHash&&) noexcept = default;

void RunningHash::add(std::span<const std::byte> bytes) {
  state_->sha256.add(bytes);
  state_->checksum.add(bytes);
}

std::string RunningHash::sha256_hex() {
  return hex(state_->sha256.finish());
}

std::string RunningHash::checksum() const {
  return state_->checksum.hex();
}

std::string to_hex(std::uint64_t value) {
  std::string text;
  append_hex(text, value);
  return text;
}

void append_hex(std::string& text, std::uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 15U];
}

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t sum = ~std::uint32_t{0};
  for (const char byte : bytes) sum = kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ (sum >> 8U);
  return ~sum;
}

std::uint64_t random_token() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

}  // namespace skyline

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace skyline {

/// First eight bytes of SHA-256, big-endian: stable over versions, machines and compilers.
std::uint64_t stable_hash64(std::string_view text);

/// Lower-case hex digests.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
using HashPieces = std::span<const std::span<const std::byte>>;
/// The digest of the pieces one after the other.
std::string sha256_hex(HashPieces pieces);
std::string sha1_hex(std::string_view text);

/// The checksum of Skyline's own files: XXH3 of 128 bits, many times faster than SHA-256. It finds damage,
/// not forgery. Hex digits as `xxh128sum` prints them.
std::string checksum(HashPieces pieces);
std::string checksum(std::string_view text);
/// The checksum of many bytes; calls `stop_requested` before every 16 MiB. @return nothing if it returned
/// true
std::optional<std::string> checksum(std::span<const std::byte> bytes,
                                    const std::function<bool()>& stop_requested);

/// CRC-32C (Castagnoli), as in TensorFlow's records and iSCSI (RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view bytes);

/// Writes 16 lower-case hex digits.
std::string to_hex(std::uint64_t value);
/// Appends the same.
void append_hex(std::string& text, std::uint64_t value);
/// 64 bits from the system that nobody can guess: for names in shared folders and marks of a process.
std::uint64_t random_token();

}  // namespace skyline

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace skyline {

/// Returns the first eight bytes of the SHA-256, big-endian: the same on all machines.
std::uint64_t stable_hash64(std::string_view text);

/// Returns the SHA-256 as lower-case hex digits.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
using HashPieces = std::span<const std::span<const std::byte>>;
std::string sha256_hex(HashPieces pieces);
std::string sha1_hex(std::string_view text);

/// Returns the checksum that Skyline's own files have: XXH3 of 128 bits, many times faster than SHA-256. It
/// finds damage, not forgery. The hex digits are those of `xxh128sum`.
std::string checksum(HashPieces pieces);
std::string checksum(std::string_view text);
/// Returns the checksum of many bytes, or nullopt if `stop_requested`, called every 16 MiB, returned true.
std::optional<std::string> checksum(std::span<const std::byte> bytes,
                                    const std::function<bool()>& stop_requested);

/// Returns the CRC-32C (Castagnoli), as in TensorFlow's records and iSCSI (RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view bytes);

/// Writes 16 lower-case hex digits.
std::string to_hex(std::uint64_t value);
/// Appends 16 lower-case hex digits.
void append_hex(std::string& text, std::uint64_t value);
/// Returns 64 bits from the system that nobody can guess, for names in shared folders and marks of a process.
std::uint64_t random_token();

}  // namespace skyline

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace skyline {

/// Computes the SHA-256 and the checksum (hash.hpp) of bytes that arrive in pieces.
class RunningHash {
 public:
  RunningHash();
  ~RunningHash();
  RunningHash(RunningHash&&) noexcept;
  RunningHash& operator=(RunningHash&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// Call once, at the end.
  std::string sha256_hex();
  std::string checksum() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline

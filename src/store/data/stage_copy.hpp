#pragma once

#include "core/backoff.hpp"
#include "store/data/staged_dataset.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace skyline::store {

// The copying for staged_dataset.cpp.

// left free, because others use the disk too
inline constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;

/// Fails with host, source and folder. @throws UserError
[[noreturn]] void fail_staging(const std::filesystem::path& source, const std::filesystem::path& stage,
                               const std::string& reason);

/// Checks that the folder has room for `bytes` and a reserve. @throws UserError
void check_room(const std::filesystem::path& source, std::uint64_t bytes, const std::filesystem::path& stage);

/// Publishes the bytes of `source` as `copy`. Returns false if it was stopped. @throws UserError, FaultError
bool make_copy(const std::filesystem::path& source, const std::filesystem::path& copy,
               const StagingOptions& options);

/// Writes to the log about work that takes long: after a while, then in intervals that double.
class SlowReport {
 public:
  explicit SlowReport(double after_s) : next_s_(after_s) {}
  bool is_due() {
    if (elapsed_s() < next_s_) return false;
    next_s_ = 2 * elapsed_s();
    return true;
  }
  double elapsed_s() const { return seconds_since(started_); }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  double next_s_;
};

}  // namespace skyline::store

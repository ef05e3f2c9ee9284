#pragma once

#include "core/log.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

namespace skyline::engine {

/// Warns of a repeated problem at most once a minute. Any thread.
class RareWarning {
 public:
  void warn(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (warned_ && now < *warned_ + std::chrono::minutes(1)) return;
    warned_ = now;
    log::warning(text);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::optional<Clock::time_point> warned_;
};

}  // namespace skyline::engine

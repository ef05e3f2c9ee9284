#pragma once

#include "core/log.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace skyline::store {

/// Logs the progress of a long task from time to time. A short task logs nothing.
class Progress {
 public:
  Progress(std::string task, std::size_t total) : task_(std::move(task)), total_(total) {}
  void advance(std::size_t count) {
    done_ += count;
    const double elapsed_s = std::chrono::duration<double>(Time::now() - started_).count();
    if (elapsed_s < next_s_) return;
    next_s_ = elapsed_s + kInterval_s;
    log::info(task_ + ": " + std::to_string(done_) + " of " + std::to_string(total_) + ", " +
              std::to_string(static_cast<std::size_t>(static_cast<double>(done_) / elapsed_s)) + "/s");
  }

 private:
  using Time = std::chrono::steady_clock;
  static constexpr double kInterval_s = 5;

  std::string task_;
  std::size_t total_;
  std::size_t done_ = 0;
  Time::time_point started_ = Time::now();
  double next_s_ = kInterval_s;
};

}  // namespace skyline::store

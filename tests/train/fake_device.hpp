#pragma once

#include "skyline/core/error.hpp"

#include "train/device/accelerator.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/Exception.h>

namespace skyline::train::test {

/// A device that is nothing but its memory: blocks are taken and freed as LibTorch's allocator does, which
/// keeps freed ones for later until it is told to release them. Counts in any unit. Thread-safe.
class FakeDevice final : public Accelerator {
 public:
  explicit FakeDevice(std::size_t total) : total_(total) { devices_ = {{0, "Fake", "", total, "cpu"}}; }

  /// @throws c10::OutOfMemoryError
  void take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (allocated_ + bytes + others_ > total_)
      TORCH_CHECK_WITH(OutOfMemoryError, false, "the fake device is full");
    allocated_ += bytes;
    reserved_ = std::max(reserved_, allocated_);
  }
  void free(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    allocated_ -= bytes;
  }
  /// Bytes that other processes use.
  void set_others(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    others_ = bytes;
  }
  std::function<void()> before_release;  // called by all threads; empty: nothing to do

  void fail_from_now_on() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  std::size_t allocated() const {
    const std::lock_guard lock(mutex_);
    return allocated_;
  }

  const std::vector<AcceleratorDevice>& devices() const override { return devices_; }
  AcceleratorMemory memory(int /*device*/) const override {
    const std::lock_guard lock(mutex_);
    if (failed_) throw InternalError("the fake device is lost");
    return {total_ - others_ - reserved_, total_, allocated_, reserved_};
  }
  void release_cached_memory(int /*device*/) override {
    if (before_release) before_release();
    const std::lock_guard lock(mutex_);
    reserved_ = allocated_;
  }
  std::optional<std::string> fault(int /*device*/) override {
    const std::lock_guard lock(mutex_);
    return failed_ ? std::optional<std::string>("the fake device is lost") : std::nullopt;
  }
  std::unique_ptr<AcceleratorStream> make_stream(int /*device*/) override { throw no_such_work(); }
  void gather(const kernels::GatherPlan& /*plan*/) override { throw no_such_work(); }
  void dropout(const kernels::DropoutPlan& /*plan*/) override { throw no_such_work(); }
  std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& /*group*/, int /*device*/) override {
    throw no_such_work();
  }

 private:
  static InternalError no_such_work() { return InternalError("the fake device has memory only"); }

  const std::size_t total_;
  std::vector<AcceleratorDevice> devices_;
  mutable std::mutex mutex_;  // of all below
  std::size_t allocated_ = 0;
  std::size_t reserved_ = 0;
  std::size_t others_ = 0;
  bool failed_ = false;
};

}  // namespace skyline::train::test

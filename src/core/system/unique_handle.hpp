#pragma once

#include <utility>

namespace skyline {

/// Owns one C handle. `Traits` names the type, the null value and how to close:
///   struct Traits { using Type = hid_t; static constexpr Type kNull = -1; static void close(Type) noexcept;
///   };
template <typename Traits>
class UniqueHandle {
 public:
  using Type = typename Traits::Type;

  UniqueHandle() noexcept = default;
  explicit UniqueHandle(Type handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(std::exchange(other.handle_, Traits::kNull)) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    UniqueHandle(std::move(other)).swap(*this);
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  Type get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Traits::kNull; }
  Type release() noexcept { return std::exchange(handle_, Traits::kNull); }
  void reset() noexcept {
    if (handle_ != Traits::kNull) Traits::close(std::exchange(handle_, Traits::kNull));
  }
  void swap(UniqueHandle& other) noexcept { std::swap(handle_, other.handle_); }

 private:
  Type handle_ = Traits::kNull;
};

}  // namespace skyline

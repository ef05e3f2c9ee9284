#pragma once

#include "core/unique_handle.hpp"

#include <string>

#include <dlfcn.h>

namespace skyline::train {

/// A library that is loaded while the program runs.
class SharedLibrary {
 public:
  /// Stays false if it cannot be loaded: see error().
  explicit SharedLibrary(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) error_ = dlerror();
  }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  const std::string& error() const { return error_; }

  /// nullptr if the library has no such function.
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_.get(), name));
  }
  /// The library stays until the program ends: its code may be on a stack, its objects alive.
  void keep() { handle_.release(); }

 private:
  struct Traits {
    using Type = void*;
    static constexpr Type kNull = nullptr;
    static void close(Type handle) noexcept { dlclose(handle); }
  };
  UniqueHandle<Traits> handle_;
  std::string error_;
};

}  // namespace skyline::train

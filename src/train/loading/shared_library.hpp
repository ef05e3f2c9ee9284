#pragma once

#include "core/system/unique_handle.hpp"

#include <string>

#include <dlfcn.h>

namespace skyline::train {

/// A library that is loaded at run time.
class SharedLibrary {
 public:
  /// Loads the library. If that fails the object is false, and error() has the reason.
  explicit SharedLibrary(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) error_ = dlerror();
  }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  const std::string& error() const { return error_; }

  /// Returns a function of the library, or nullptr if it has none of that name.
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_.get(), name));
  }
  /// Keeps the library until the program ends, because its code may be on a stack and its objects alive.
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

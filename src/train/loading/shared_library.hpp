#pragma once

#include "core/system/unique_handle.hpp"

#include <string>
#include <string_view>

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

/// A module of Skyline that is a library of its own, with one exported function.
struct ModuleName {
  const char* noun;       // for messages
  const char* entry;      // function that returns a `const Module*`
  const char* interface;  // that of this build; a module of another one is refused
};

/// Opens a module, which stays loaded, even a wrong one: it may have loaded LibTorch, whose registration
/// stays. Returns nullptr and sets `reason` if that fails.
/// @tparam Module  has the member `interface` first
template <typename Module>
const Module* open_module(const std::string& file, const ModuleName& name, std::string& reason) {
  SharedLibrary library(file);
  if (!library) {
    reason = std::string("the ") + name.noun + " does not load: " + library.error();
    return nullptr;
  }
  const auto entry = library.function<const Module* (*)()>(name.entry);
  library.keep();
  if (entry == nullptr) {
    reason = file + " is not Skyline's " + name.noun;
    return nullptr;
  }
  const Module* const module = entry();
  if (std::string_view(module->interface) == name.interface) return module;
  reason = file + " was built from other sources than this program: build both together";
  return nullptr;
}

}  // namespace skyline::train

#pragma once

#include "core/system/unique_handle.hpp"

#include <new>
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

/// A hash of the headers that the program shares with its modules, and of LibTorch's version. It is hidden,
/// so that each of them has that of its own build.
[[gnu::visibility("hidden")]] extern const char kModuleInterface[];

/// Opens a module of Skyline that is a library of its own. It stays loaded, even a wrong one: it may have
/// loaded LibTorch, whose registration stays. Returns nullptr and sets `reason` if that fails.
/// @throws std::bad_alloc if there is no memory for it
/// @tparam Module  its interface, whose `interface` is the kModuleInterface of the module's build
/// @param noun     for messages
/// @param entry    name of its only export, a function that returns a `const Module*`
template <typename Module>
const Module* open_module(const std::string& file, const std::string& noun, const char* entry,
                          std::string& reason) {
  SharedLibrary library(file);
  if (!library) {
    // The loader says in words alone that this process may map no more.
    if (library.error().find("failed to map segment") != std::string::npos) throw std::bad_alloc();
    const bool is_foreign = library.error().find("undefined symbol") != std::string::npos;
    reason = "the " + noun + " does not load: " + library.error() +
             (is_foreign ? " (it was built from other sources or with another LibTorch: build both together)"
                         : "");
    return nullptr;
  }
  const auto function = library.function<const Module* (*)()>(entry);
  library.keep();
  if (function == nullptr) {
    reason = file + " is not Skyline's " + noun;
    return nullptr;
  }
  const Module* const module = function();
  if (std::string_view(module->interface) == kModuleInterface) return module;
  reason = file + " was built from other sources than this program: build both together";
  return nullptr;
}

}  // namespace skyline::train

#pragma once

#include "skyline/core/error.hpp"

#include "core/system/unique_handle.hpp"

#include <concepts>
#include <filesystem>
#include <string>
#include <type_traits>

#include <hdf5.h>

namespace skyline::store {

template <herr_t (*Close)(hid_t)>
struct Hdf5Traits {
  using Type = hid_t;
  static constexpr Type kNull = -1;
  static void close(Type id) noexcept { Close(id); }
};

using Hdf5File = UniqueHandle<Hdf5Traits<&H5Fclose>>;
using Hdf5Group = UniqueHandle<Hdf5Traits<&H5Gclose>>;
using Hdf5Dataset = UniqueHandle<Hdf5Traits<&H5Dclose>>;
using Hdf5Object = UniqueHandle<Hdf5Traits<&H5Oclose>>;
using Hdf5Attribute = UniqueHandle<Hdf5Traits<&H5Aclose>>;
using Hdf5Space = UniqueHandle<Hdf5Traits<&H5Sclose>>;
using Hdf5Type = UniqueHandle<Hdf5Traits<&H5Tclose>>;
using Hdf5PropertyList = UniqueHandle<Hdf5Traits<&H5Pclose>>;

/// The library's type of a 64-bit number in memory.
template <typename Number>
hid_t native_type() {
  static_assert(std::is_arithmetic_v<Number> && sizeof(Number) == 8);
  if (std::is_floating_point_v<Number>) return H5T_NATIVE_DOUBLE;
  return std::is_signed_v<Number> ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
}

/// Throws UserError "cannot <task> <path>: HDF5: <innermost message of the library>".
[[noreturn]] inline void fail_hdf5(const char* task, const std::filesystem::path& path) {
  const auto keep_innermost = [](unsigned depth, const H5E_error2_t* error, void* text) {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return herr_t{0};
  };
  std::string reason = "unknown error";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  throw UserError(std::string("cannot ") + task + " " + path.string() + ": HDF5: " + reason);
}

/// Returns the result of an HDF5 call, or throws if it is an error.
/// @param task  "read" or "write"
template <std::signed_integral T>
T check_hdf5(T result, const char* task, const std::filesystem::path& path) {
  if (result < 0) fail_hdf5(task, path);
  return result;
}

/// Keeps the library from printing its error stack to the terminal. The library has one such switch per
/// thread, so every function of this module that uses HDF5 calls this first.
inline void silence_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace skyline::store

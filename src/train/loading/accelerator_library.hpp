#pragma once

#include "train/device/accelerator.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace skyline::train {

/// What the program lends the library, which has a logger of its own otherwise.
struct AcceleratorHost {
  /// Writes a line to the program's log. @param level  of log::Level
  void (*write_log)(int level, const char* text, std::size_t size);
};

/// What the `cuda` library gives the program: the only thing that is exported from it. Program and library
/// exchange C++ objects, so they must be built from the same headers: `interface` is compared first.
struct AcceleratorLibrary {
  const char* interface;  // SKYLINE_ACCELERATOR_INTERFACE of its build
  /// The node's devices; nullptr if there are none that can be used, and `reason` says why in one line.
  std::shared_ptr<Accelerator> (*open)(const AcceleratorHost& host, std::string& reason);
  /// Of what it is linked to, for a person: "CUDA 13.0, NCCL 2.28.9".
  std::string (*versions)();
};

/// The name and type of the exported function.
inline constexpr const char* kAcceleratorLibraryEntry = "skyline_accelerator_library";
using AcceleratorLibraryEntry = const AcceleratorLibrary* (*)();

}  // namespace skyline::train

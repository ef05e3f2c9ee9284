#pragma once

#include "train/device/accelerator.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace skyline::train {

/// Opens the devices of the node through the `cuda` library; nullptr if none can be used, with `reason` in
/// one line. Loads the library at the first call, which comes before the process' first tensor: LibTorch
/// looks for its CUDA part once.
/// @throws UserError if the node has a GPU that cannot be used, as for an old driver
std::shared_ptr<Accelerator> load_accelerator(std::string& reason);

/// Finds the file of the `cuda` library: SKYLINE_CUDA_LIBRARY, or libskyline_cuda.so beside the program, in
/// its ../lib or where the loader looks for the program's libraries. Returns "" and sets `reason` if there is
/// none.
std::string find_accelerator_library(std::string& reason);

/// Opens the devices through the library in `file`. Returns nullptr and sets `reason` if that fails.
std::shared_ptr<Accelerator> open_accelerator_library(const std::string& file, std::string& reason);

/// Returns the versions of the libraries that the loaded accelerator uses, e.g. "CUDA 13.0, NCCL 2.28.9".
std::string accelerator_versions();

/// Functions of the program that the library calls, since it would otherwise have its own logger.
struct AcceleratorHost {
  /// Writes a line to the program's log.
  /// @param level  a log::Level
  void (*write_log)(int level, const char* text, std::size_t size);
};

/// The interface of the `cuda` library, which skyline_accelerator_library() returns, its only export. Program
/// and library exchange C++ objects, so they must be built from the same headers: `interface` is compared
/// first.
struct AcceleratorLibrary {
  const char* interface;  // kModuleInterface of the library's build
  /// Opens the node's devices; returns nullptr if none can be used, with `reason` in one line.
  std::shared_ptr<Accelerator> (*open)(const AcceleratorHost& host, std::string& reason);
  /// Returns the versions of the linked libraries for a person, e.g. "CUDA 13.0, NCCL 2.28.9".
  std::string (*versions)();
};

}  // namespace skyline::train

#pragma once

#include "train/device/accelerator.hpp"

#include <memory>
#include <string>

namespace skyline::train {

/// Finds the file of the `cuda` library: SKYLINE_CUDA_LIBRARY, or libskyline_cuda.so beside the program, in
/// its ../lib or where the loader looks for the program's libraries; empty if there is none, with `reason`.
std::string find_accelerator_library(std::string& reason);

/// Opens the devices through the library in `file`; nullptr and `reason` if that fails.
std::shared_ptr<Accelerator> open_accelerator_library(const std::string& file, std::string& reason);

/// Versions of the libraries behind the accelerator of load_accelerator(): "CUDA 13.0, NCCL 2.28.9".
std::string accelerator_versions();

}  // namespace skyline::train

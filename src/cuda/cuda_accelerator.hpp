#pragma once

#include "train/device/accelerator.hpp"

#include <memory>
#include <string>

namespace skyline::cuda {

/// Makes the accelerator of this process.
/// @return nullptr if CUDA finds no device; `reason` then says why in one line
std::shared_ptr<train::Accelerator> make_cuda_accelerator(std::string& reason);

}  // namespace skyline::cuda

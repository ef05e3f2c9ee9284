#pragma once

#include <string>

namespace skyline::train {

/// Version of the LibTorch that this process has loaded, "2.11.0".
std::string torch_version();

}  // namespace skyline::train

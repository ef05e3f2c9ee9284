#pragma once

#include "store/weights/weights.hpp"

#include <string_view>

namespace skyline::store {

/// Reads the bytes of a weights file; `path` is for messages. @throws UserError as read_weights
WeightsFile decode_weights(std::string_view file, const std::filesystem::path& path);

}  // namespace skyline::store

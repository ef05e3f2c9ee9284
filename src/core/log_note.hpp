#pragma once

#include "core/log.hpp"

#include <string_view>

namespace skyline::log {

/// Writes one line to the log file alone, if one is open, without the prefix: what the terminal shows in
/// another form. Thread-safe.
void note(Level level, std::string_view message);

}  // namespace skyline::log

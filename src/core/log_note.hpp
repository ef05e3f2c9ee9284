#pragma once

#include "core/log.hpp"

#include <string_view>

namespace skyline::log {

/// Writes one line without the prefix to the log file only, if one is open. Used for text that the terminal
/// shows in another form. Thread-safe.
void note(Level level, std::string_view message);

}  // namespace skyline::log

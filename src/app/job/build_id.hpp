#pragma once

#include <string>

namespace skyline::app {

/// The linker's mark of this program's build, 16 hex digits: another one for other sources, compilers or
/// options. "unknown" if the linker left none.
std::string build_id();

}  // namespace skyline::app

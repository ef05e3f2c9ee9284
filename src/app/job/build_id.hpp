#pragma once

#include <string>

namespace skyline::app {

/// The linker's id of this program's build, 16 hex digits, which differs for other sources, compilers or
/// options. "unknown" if there is none.
std::string build_id();

}  // namespace skyline::app

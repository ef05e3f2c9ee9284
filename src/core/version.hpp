#pragma once

namespace skyline {

/// The version of this program, e.g. "1.4.0"; valid for the process's life.
const char* program_version();

}  // namespace skyline

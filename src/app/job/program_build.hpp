#pragma once

#include <string>
#include <vector>

namespace skyline::app {

/// The commit of the sources, and whether they were modified, e.g. "96ab6c3b0c1d (modified)"; "unknown" if
/// they were in no repository. The build writes its source (cmake/Commit.cmake).
extern const char* const kCommit;

/// Describes this program by what results depend on, the most informative part first: "0.1.0", "commit
/// 96ab6c3b0c1d", "LibTorch 2.11.0" if it is loaded, "Open MPI 4.1.4", "GCC 12.2.0". The only place that
/// lists them. Local.
std::vector<std::string> program_parts();

/// Returns the linker's id of this program's build, 16 hex digits, which differs for other sources, compilers
/// or options. Returns "unknown" if there is none.
std::string build_id();

}  // namespace skyline::app

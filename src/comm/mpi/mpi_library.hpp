#pragma once

#include <string>

namespace skyline::comm {

/// The MPI library that this process has loaded, "Open MPI 4.1.4"; also without MPI started.
std::string mpi_library_name();

}  // namespace skyline::comm

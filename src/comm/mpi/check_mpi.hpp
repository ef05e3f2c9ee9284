#pragma once

#include <string>

namespace skyline::comm {

/// Throws FaultError "<call>: <the library's text>" unless `code` is MPI_SUCCESS. Works only on
/// communicators whose error handler is MPI_ERRORS_RETURN.
void check_mpi(int code, const char* call);

/// The MPI library that this process has loaded, "Open MPI 4.1.4"; also without MPI started.
std::string mpi_library_name();

}  // namespace skyline::comm

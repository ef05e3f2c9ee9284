#pragma once

namespace skyline::comm {

/// Throws FaultError "<call>: <the library's text>" unless `code` is MPI_SUCCESS. Works only on
/// communicators whose error handler is MPI_ERRORS_RETURN.
void check_mpi(int code, const char* call);

}  // namespace skyline::comm

#include "comm/mpi/check_mpi.hpp"

#include "skyline/core/error.hpp"

#include <string>

#include <mpi.h>

namespace skyline::comm {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  const bool known = MPI_Error_string(code, text, &length) == MPI_SUCCESS;
  throw FaultError(
      std::string(call) + ": " +
      (known ? std::string(text, static_cast<std::size_t>(length)) : "MPI error " + std::to_string(code)));
}

}  // namespace skyline::comm

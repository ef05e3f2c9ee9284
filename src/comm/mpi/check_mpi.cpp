#include "comm/mpi/check_mpi.hpp"

#include "skyline/core/error.hpp"

#include <cstddef>
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

std::string mpi_library_name() {
  // "Open MPI v4.1.4, package: ..." -> "Open MPI 4.1.4"
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const auto version = name.find(" v"); version != std::string::npos) name.erase(version + 1, 1);
  return name;
}

}  // namespace skyline::comm

#include "comm/mpi/mpi_library.hpp"

#include "comm/mpi/check_mpi.hpp"

#include <cstddef>

#include <mpi.h>

namespace skyline::comm {

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

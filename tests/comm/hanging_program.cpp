#include "comm/environment.hpp"

#include <csignal>
#include <cstdlib>
#include <string>

#include <mpi.h>

/// The last rank stops for good: "init" before MPI_Init, "roll" behind it. The others wait for so many
/// seconds.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string where = argv[1];
  const std::string rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank == "2") {
    if (where == "roll") MPI_Init(nullptr, nullptr);
    std::raise(SIGSTOP);
    return 1;  // when the launcher ends the job
  }
  const auto environment = skyline::comm::Environment::start({.timeout_s = std::stod(argv[2])});
  return 0;
}

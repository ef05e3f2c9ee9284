#include "skyline/comm/environment.hpp"

#include "comm/environments.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace skyline::comm {
namespace {

/// What started this process as a rank of an MPI job; empty: nothing did.
std::string find_launcher() {
  const auto has = [](const char* name) { return std::getenv(name) != nullptr; };
  if (has("OMPI_COMM_WORLD_SIZE")) return "mpirun";
  if (!has("PMIX_RANK") && !has("PMI_RANK") && !has("PMI_SIZE")) return {};
  return has("SLURM_PROCID") ? "srun" : "an MPI launcher";
}

}  // namespace

std::unique_ptr<Environment> Environment::start() {
  const std::string launcher = find_launcher();
  return launcher.empty() ? make_local_environment() : start_mpi_environment(launcher);
}

void flush_streams() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

}  // namespace skyline::comm

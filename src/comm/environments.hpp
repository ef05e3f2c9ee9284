#pragma once

#include "comm/environment.hpp"

#include <memory>

namespace skyline::comm {

/// Starts MPI. @throws UserError if MPI does not connect the processes that the launcher started
std::unique_ptr<Environment> start_mpi_environment(const Launch& launch, const StartOptions& options);

/// One process, no MPI.
std::unique_ptr<Environment> make_local_environment(const Launch& launch = {});

/// Writes out what is buffered, before a process ends without its destructors.
void flush_streams();

}  // namespace skyline::comm

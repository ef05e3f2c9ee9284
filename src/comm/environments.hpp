#pragma once

#include "skyline/comm/environment.hpp"

#include <memory>
#include <string>

namespace skyline::comm {

/// Starts MPI. `launcher` is what started us, for describe().
std::unique_ptr<Environment> start_mpi_environment(const std::string& launcher);

/// One process, no MPI.
std::unique_ptr<Environment> make_local_environment();

/// Writes out what is buffered, before a process ends without its destructors.
void flush_streams();

}  // namespace skyline::comm

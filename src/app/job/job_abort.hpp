#pragma once

#include "comm/environment.hpp"

#include <exception>
#include <string>
#include <string_view>

namespace skyline::app {

/// How a rank signs what it writes, e.g. "[rank 3 node07]".
std::string rank_name(comm::Environment& environment);

/// Prints one line on standard error, "skyline: cannot read ...".
void print_error(std::string_view text);

/// Ends the whole job: one rank that unwinds into MPI_Finalize would hang while others wait for it. Prints
/// the error, signed where there are several ranks. @return  the exit code, of jobs without MPI
int end_all_ranks(comm::Environment& environment, const std::exception& error);

}  // namespace skyline::app

#pragma once

#include <string>
#include <vector>

#include <mpi.h>

namespace skyline::comm {

class StartWatch;

/// Collective, the first exchange of a job: returns when rank 0 has heard of every rank and every rank of
/// rank 0. It polls, and meanwhile tells `watch` who is missing.
/// @param job_hosts  on which ranks may run, as the launcher gives them; may be empty
void call_roll(MPI_Comm world, const std::string& host, const std::vector<std::string>& job_hosts,
               StartWatch& watch);

}  // namespace skyline::comm

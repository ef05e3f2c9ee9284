#pragma once

#include <string>
#include <vector>

namespace skyline::comm {

/// "no word over MPI from ranks 8-15 (none at all from node08); heard from node07: ..."
/// @param hosts      [ranks] of those that have answered, else empty; one is missing at least
/// @param job_hosts  as told by the launcher; may be empty
std::string describe_missing(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& job_hosts);

}  // namespace skyline::comm

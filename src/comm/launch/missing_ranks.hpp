#pragma once

#include <string>
#include <vector>

namespace skyline::comm {

/// Says who is missing: "no word over MPI from ranks 8-15 (none at all from node08); heard from node07: ..."
/// @param hosts  [ranks] name of each host that has answered, else empty; at least one is empty
/// @param job_hosts  as the launcher gives them; may be empty
std::string describe_missing(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& job_hosts);

}  // namespace skyline::comm

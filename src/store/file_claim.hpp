#pragma once

#include "skyline/store/run_folder.hpp"

#include "store/claim_record.hpp"

#include <chrono>
#include <memory>

namespace skyline::store {

/// The claim as owner.json; RunClaim::take with another interval between heartbeats. See there.
std::unique_ptr<RunClaim> take_file_claim(const RunPaths& paths,
                                          std::chrono::steady_clock::duration renew_after);

}  // namespace skyline::store

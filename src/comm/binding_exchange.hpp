#pragma once

#include "comm/communicator.hpp"
#include "machine/device_binding.hpp"

#include <vector>

namespace skyline::comm {

/// Collective: every rank's view on rank 0, by world rank; empty elsewhere.
std::vector<machine::RankView> gather_views(Communicator& world, const machine::RankView& mine);

/// Collective: each rank gets its own binding from rank 0. @param bindings  [size] on rank 0
machine::RankBinding share_bindings(Communicator& world, const std::vector<machine::RankBinding>& bindings);

}  // namespace skyline::comm

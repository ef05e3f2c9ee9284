#pragma once

#include "skyline/trial/trial_group.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace skyline::testing {

/// A group whose members are threads of this process: the slow, obvious one, and the oracle of the engine's.
/// The last member to call an operation does all of it under one lock, along the tree of TrialGroup.
/// @param silence  how long a wait lasts before it gives the trial up
/// @return         the views of members 0, 1, ...; give each to a thread of its own
std::vector<std::unique_ptr<trial::TrialGroup>> make_local_groups(
    std::size_t members, std::chrono::milliseconds silence = std::chrono::minutes(1));

}  // namespace skyline::testing

#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/group/group_place.hpp"

#include <optional>

namespace skyline::engine {

/// A trial and the place where it trains.
struct Assignment {
  trial::Trial trial;
  std::optional<GroupPlace> group;  // for a trial with several members; else the slot alone
};

}  // namespace skyline::engine

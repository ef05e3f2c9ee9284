#pragma once

#include "skyline/objective/trial.hpp"

#include "engine/group_place.hpp"

#include <optional>

namespace skyline::engine {

/// A trial, and who trains it.
struct Assignment {
  objective::Trial trial;
  std::optional<GroupPlace> group;  // of a trial with several members; else the slot alone
};

}  // namespace skyline::engine

#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/group/group_place.hpp"

#include <optional>

namespace skyline::engine {

/// A trial, and who trains it.
struct Assignment {
  trial::Trial trial;
  std::optional<GroupPlace> group;  // of a trial with several members; else the slot alone
};

}  // namespace skyline::engine

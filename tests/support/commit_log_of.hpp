#pragma once

#include "trial/commit_log.hpp"

#include <span>

namespace skyline::testing {

/// The trials in the order of their positions.
inline trial::CommitLog commit_log_of(std::span<const trial::CommittedTrial> trials) {
  trial::CommitLog log;
  for (const trial::CommittedTrial& committed : trials) log.add(committed);
  return log;
}

}  // namespace skyline::testing

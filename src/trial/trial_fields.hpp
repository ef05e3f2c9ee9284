#pragma once

#include "skyline/trial/trial.hpp"

namespace skyline::trial {

/// The one list of what makes a trial besides its name and its architecture: calls `visit(name, fields...)`
/// for each field, with that of every trial given, in a fixed order. MPI records, journal lines, tables and
/// comparisons are made of it, so that a new field is one line here if they know its type.
/// @param trials  one or more, constant or not
template <typename Visitor, typename... Trials>
void for_each_field(Visitor&& visit, Trials&... trials) {
  visit("origin", trials.proposal.origin...);
  visit("iteration", trials.proposal.iteration...);
  visit("parents", trials.proposal.parents...);
  visit("start", trials.proposal.start...);
  visit("epochs", trials.proposal.budget.epochs...);
  visit("members", trials.members...);
  visit("seed", trials.seed...);
}

/// The same for where and when a trial ran, as far as it is recorded.
template <typename Visitor, typename... Timings>
void for_each_timing(Visitor&& visit, Timings&... timings) {
  visit("rank", timings.rank...);
  visit("slot", timings.slot...);
  visit("started_s", timings.started_s...);
  visit("setup_s", timings.setup_s...);
  visit("train_s", timings.train_s...);
  visit("validate_s", timings.validate_s...);
  visit("latency_s", timings.latency_s...);
}

}  // namespace skyline::trial

#pragma once

#include "skyline/search/searcher.hpp"

#include "run/run_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace skyline::engine {

/// Returns the members of the front, and after them its nearest rivals, until there are `members`: the search
/// trials of the next fronts, the best by the first objective first.
/// @param front    numbers of search trials on the front
/// @param members  0 for the front alone
std::vector<trial::TrialNumber> with_rivals(const run::RunState& state, std::vector<trial::TrialNumber> front,
                                            std::size_t members);

/// The full training after the search, through the same loop: a searcher that asks for each repeat of some
/// search trials (usually the front) that has not been trained with this budget. All trials are trained once
/// before the first is repeated, so more repeats only add trainings at the end. If there are repeats, the
/// members of an earlier final front that have left the front of the search get them as well.
/// @param state    a run whose search is over; used only during this call
/// @param repeats  number of full trainings of each trial
std::unique_ptr<search::Searcher> front_training(const run::RunState& state,
                                                 std::span<const trial::TrialNumber> numbers,
                                                 const trial::Budget& budget, std::uint32_t repeats = 1);

/// The refit of the final front (trial::kRefit), through the same loop: a searcher that asks for that of each
/// member whose first full training succeeded and that has none yet.
/// @param state  a run whose full trainings are over; used only during this call
/// @param kept_epochs  place among the metrics of the one that says after how many epochs a full training
/// kept its
///                     weights; without it, all of them
std::unique_ptr<search::Searcher> front_refit(const run::RunState& state,
                                              const std::optional<std::size_t>& kept_epochs);

}  // namespace skyline::engine

#pragma once

#include "skyline/search/searcher.hpp"

#include "run/run_state.hpp"

#include <memory>
#include <span>

namespace skyline::engine {

/// The full training after the search, through the same loop: a searcher that asks once for each of some
/// search trials (usually the front) that has not been trained with this budget.
/// @param state  a run whose search is over; used only during this call
std::unique_ptr<search::Searcher> front_training(const run::RunState& state,
                                                 std::span<const trial::TrialNumber> numbers,
                                                 const trial::Budget& budget);

}  // namespace skyline::engine

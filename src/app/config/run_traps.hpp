#pragma once

#include "skyline/search/searcher.hpp"
#include "skyline/trial/evaluator.hpp"

#include "app/config/run_config.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The slots of a job and the ranks that have them; nothing: not known.
struct JobSize {
  std::optional<std::size_t> slots = {};
  std::optional<std::size_t> ranks = {};
};

/// Whether the search could go on with the results that there are, and waits for all of them for lack of a
/// window.
bool lacks_window(const RunConfig& config, const search::Searcher& searcher);

/// The settings that would leave slots idle on such a job, or that do nothing: one sentence each, which
/// begins with the key. Where the slots are not known, `run.virtual_slots` stands for them.
/// @param evaluator  knows the members of groups; nullptr: groups are not looked at
std::vector<std::string> run_traps(const RunConfig& config, const search::Searcher& searcher,
                                   const trial::Evaluator* evaluator, const JobSize& size);

}  // namespace skyline::app

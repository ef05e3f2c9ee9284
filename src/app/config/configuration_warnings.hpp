#pragma once

#include "skyline/search/searcher.hpp"
#include "skyline/trial/evaluator.hpp"

#include "app/config/run_config.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The slots of a job and the ranks that have them; no value if unknown.
struct JobSize {
  std::optional<std::size_t> slots = {};
  std::optional<std::size_t> ranks = {};
};

/// Returns true if the search could propose trials now but waits for a generation, for lack of a window.
bool lacks_window(const RunConfig& config, const search::Searcher& searcher);

/// Returns the settings that would leave slots idle on such a job, or have no effect: one sentence each,
/// which begins with the key. If the slots are unknown, `run.virtual_slots` is used instead.
/// @param evaluator  knows the members of groups; nullptr to skip groups
std::vector<std::string> configuration_warnings(const RunConfig& config, const search::Searcher& searcher,
                                                const trial::Evaluator* evaluator, const JobSize& size);

}  // namespace skyline::app

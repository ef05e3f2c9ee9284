#include "app/config/configuration_warnings.hpp"

#include "core/text/wording.hpp"
#include "search/pruning_bars.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace skyline::app {
namespace {

constexpr std::size_t kSampledForMembers = 100;  // number of architectures, to find the members of groups

std::string of_slots(std::size_t trials, std::size_t slots) {
  return counted(trials, "trial") + " at a time for " + counted(slots, "slot") + ", which leaves " +
         std::to_string(slots - trials) + " idle";
}

std::optional<std::string> useless_window(const RunConfig& config, const search::Searcher& searcher) {
  if (!config.sections.run.window || search::pruning_of(config.sections.search)) return std::nullopt;
  const search::Algorithm& algorithm = config.algorithm();
  const std::string key = "run.window: a window does not help " + algorithm.name + ", ";
  if (!searcher.needs_results()) return key + "which needs no results: leave it out";
  if (!searcher.generation()) return std::nullopt;
  const std::string& steady = algorithm.steady_setting;
  return key + "which waits for each generation" + (steady.empty() ? "" : "; `" + steady + "` does not");
}

std::optional<std::string> missing_window(const RunConfig& config, const search::Searcher& searcher) {
  if (!lacks_window(config, searcher)) return std::nullopt;
  return "run.window: without one, " + config.algorithm().name +
         " waits until all trials in flight are committed; set it to 2 to 2.5 times the slots by virtual "
         "time, 4 to 5 times by number";
}

/// Names a window or a batch that holds all trials, unless those are all there are, or few.
std::optional<std::string> random_search(const RunConfig& config, const search::Searcher& searcher,
                                         std::size_t slots) {
  const std::size_t trials = searcher.expected_trials();
  const std::size_t few = config.algorithm().window.value_or(1);
  if (!searcher.needs_results() || searcher.generation() || trials <= few) return std::nullopt;
  if (static_cast<std::size_t>(config.space.genotype_count()) <= trials) return std::nullopt;
  const ConfigNode* const batch = config.sections.search.find("batch");
  for (const auto& [key, size] :
       {std::pair{"run.window", config.sections.run.window_trials().value_or(0)},
        std::pair{"search.batch", batch == nullptr ? 0 : static_cast<std::size_t>(batch->as_integer())}}) {
    if (size < trials) continue;
    const std::size_t wanted = std::max<std::size_t>(1, trials / 4);
    return key + (": holds all " + counted(trials, "trial")) + ", so " + config.algorithm().name +
           " knows no result when it chooses the last one, which is a random search: " +
           (wanted < slots ? "give it four times as many trials as there are slots, or fewer slots"
                           : "set it to " + std::to_string(wanted) + " or less");
  }
  return std::nullopt;
}

std::optional<std::string> idle_slots(const RunConfig& config, const search::Searcher& searcher,
                                      std::size_t slots) {
  const std::optional<std::size_t> window = config.sections.run.window_trials();
  if (window && *window < slots) {
    const std::string by_time = std::to_string(2 * slots + slots / 2);
    const bool is_by_time = config.sections.run.commit == engine::CommitBy::kVirtualTime;
    return "run.window: " + of_slots(*window, slots) + "; set it to " +
           (is_by_time
                ? by_time
                : std::to_string(4 * slots) + ", or to " + by_time + " with `run.commit: virtual_time`");
  }
  const std::optional<std::size_t> generation = searcher.generation();
  if (!generation || *generation >= slots) return std::nullopt;
  return "search: a generation has at most " + of_slots(*generation, slots);
}

std::optional<std::string> large_groups(const RunConfig& config, const trial::Evaluator& evaluator,
                                        std::size_t ranks) {
  if (!evaluator.forms_groups()) return std::nullopt;
  std::uint32_t most = 1;
  for (const auto& architecture : config.draw_valid(kSampledForMembers)) {
    trial::Trial trial;
    trial.proposal.architecture = architecture;
    trial.proposal.budget = {config.evaluator.needs.epochs};
    most = std::max(most, evaluator.members_for(trial));
  }
  if (most <= ranks) return std::nullopt;
  return config.evaluator.kind->members_key + ": trials of up to " + counted(most, "member") + " for " +
         counted(ranks, "rank") + (ranks == 1 ? " that trains" : " that train") +
         ": some ranks train several members of a trial, which is slower";
}

std::optional<std::string> useless_repeats(const RunConfig& config) {
  if (search::repeats_of(config.sections.search) == 1 || config.evaluator.needs.seeded) return std::nullopt;
  return "search.repeats: results of `" + config.evaluator.kind->name +
         "` do not depend on the seed, so repeats tell nothing: leave it out";
}

/// Names the objectives by which a trial does not end early.
std::optional<std::string> objectives_of_whole_trials(const RunConfig& config) {
  if (!search::pruning_of(config.sections.search)) return std::nullopt;
  const auto left_out = search::StepComparison(config.objectives, config.metrics).left_out();
  if (left_out.empty()) return std::nullopt;
  return "search.pruning: trials are compared without " + joined(left_out) + ", which only whole trials have";
}

}  // namespace

bool lacks_window(const RunConfig& config, const search::Searcher& searcher) {
  return !config.sections.run.window && searcher.needs_results() && !searcher.generation();
}

std::vector<std::string> configuration_warnings(const RunConfig& config, const search::Searcher& searcher,
                                                const trial::Evaluator* evaluator, const JobSize& size) {
  std::vector<std::string> traps = config.space.warnings();
  const auto add = [&](std::optional<std::string> trap) {
    if (trap) traps.push_back(*std::move(trap));
  };
  std::ranges::copy(config.space.failing_conditions(), std::back_inserter(traps));
  std::ranges::copy(config.known.summaries, std::back_inserter(traps));
  if (!config.known.summaries.empty() && !config.algorithm().uses_known) {
    traps.push_back("search.known: " + config.algorithm().name + " does not use known results");
  }
  add(useless_repeats(config));
  add(objectives_of_whole_trials(config));
  add(useless_window(config, searcher));
  add(missing_window(config, searcher));
  const std::optional<std::size_t> slots = size.slots ? size.slots : config.sections.run.virtual_slots;
  add(random_search(config, searcher, slots.value_or(1)));
  if (slots) add(idle_slots(config, searcher, *slots));
  if (size.ranks && evaluator != nullptr) add(large_groups(config, *evaluator, *size.ranks));
  return traps;
}

}  // namespace skyline::app

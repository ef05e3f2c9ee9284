#include "skyline/search/algorithm.hpp"

#include "search/repeating_searcher.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace skyline::search {
namespace {

/// Returns the most trials that a `search` section allows.
std::size_t most_trials(const ConfigNode& section, const Algorithm& algorithm) {
  const ConfigNode complete = algorithm.keys->complete(section);
  const ConfigNode* trials = complete.find("trials");
  return trials == nullptr ? std::numeric_limits<std::size_t>::max()
                           : static_cast<std::size_t>(trials->as_integer());
}

}  // namespace

void check_repeats(const ConfigNode& written, const Algorithm& algorithm) {
  if (!written.is_map() || repeats_of(written) == 1) return;
  const ConfigNode& repeats = written.at("repeats");
  if (!algorithm.can_repeat) repeats.fail("not with `algorithm: " + algorithm.name + "`: expected 1");
  const ConfigNode* const budgets = written.find("budgets");
  if (budgets != nullptr && budgets->is_list()) repeats.fail("not with `search.budgets`");
}

std::unique_ptr<Searcher> make_searcher(const ConfigNode& section, const space::SearchSpace& space,
                                        const objective::ObjectiveSet& objectives, std::uint64_t seed,
                                        const trial::Budget& budget,
                                        std::span<const trial::CommittedTrial> known,
                                        const TunerStart& start_tuner) {
  const Algorithm& algorithm = algorithm_of(section);
  const std::uint32_t repeats = section.is_map() ? repeats_of(section) : 1;
  const std::optional<PruningOptions> pruning = pruning_of(section);
  algorithm.check(section, budget);
  std::unique_ptr<Searcher> searcher =
      algorithm.make(section, {space, objectives, seed, budget, known,
                               pruning ? pruning->at : std::vector<std::int64_t>(), start_tuner});
  if (repeats == 1) return searcher;
  return std::make_unique<RepeatingSearcher>(std::move(searcher), objectives, repeats,
                                             most_trials(section, algorithm));
}

}  // namespace skyline::search

#include "skyline/search/algorithm.hpp"

#include "core/config/config_text.hpp"
#include "search/background_searcher.hpp"
#include "search/outside_searcher.hpp"
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
  const std::optional<double> number =
      trials != nullptr && trials->is_scalar() ? parse_number(trials->as_text()) : std::nullopt;
  return number && *number >= 1 ? static_cast<std::size_t>(*number) : std::numeric_limits<std::size_t>::max();
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
                                        const SearchPrograms& programs) {
  const Algorithm& algorithm = algorithm_of(section);
  const std::uint32_t repeats = section.is_map() ? repeats_of(section) : 1;
  const std::optional<PruningOptions> pruning = pruning_of(section);
  algorithm.check(section, budget);
  std::unique_ptr<Searcher> searcher = algorithm.make(
      section, {space, objectives, seed, budget, known, pruning ? pruning->at : std::vector<std::int64_t>(),
                programs.start_tuner, programs.counter});
  if (programs.counter != nullptr)
    searcher = std::make_unique<BackgroundSearcher>(std::move(searcher), programs.counter);
  const std::size_t trials = most_trials(section, algorithm);
  if (repeats > 1)
    searcher = std::make_unique<RepeatingSearcher>(std::move(searcher), objectives, repeats, trials);
  return std::make_unique<OutsideSearcher>(std::move(searcher), trials);
}

}  // namespace skyline::search

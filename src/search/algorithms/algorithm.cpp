#include "search/algorithms/algorithm.hpp"

#include "search/algorithms/evolution_pareto.hpp"
#include "search/algorithms/exhaustive_search.hpp"
#include "search/algorithms/random_search.hpp"

#include <array>

namespace skyline::search {

namespace {

template <typename AnySearcher>
std::unique_ptr<Searcher> make(const SearchOptions& options, const space::SearchSpace& space,
                               const objective::ObjectiveSet& objectives, std::uint64_t seed) {
  return std::make_unique<AnySearcher>(options, space, objectives, seed);
}

std::size_t read_count(const ConfigNode& value, std::int64_t minimum) {
  constexpr std::int64_t kLargest = 1'000'000;
  const std::int64_t count = value.as_integer();
  if (count < minimum || count > kLargest) {
    value.fail_expected("a whole number from " + std::to_string(minimum) + " to " + std::to_string(kLargest));
  }
  return static_cast<std::size_t>(count);
}

template <std::size_t SearchOptions::*count, std::int64_t minimum>
constexpr OptionKey count_key(std::string_view name) {
  return {
      name,
      [](const ConfigNode& value, SearchOptions& options) { options.*count = read_count(value, minimum); },
      [](const SearchOptions& options) {
        return ConfigNode::make_scalar(std::to_string(options.*count), {});
      }};
}

void read_mutation_probability(const ConfigNode& value, SearchOptions& options) {
  options.mutation_probability = value.as_number();
  if (!(options.mutation_probability > 0 && options.mutation_probability <= 1)) {
    value.fail_expected("a probability above 0 and at most 1");
  }
}

ConfigNode write_mutation_probability(const SearchOptions& options) {
  return ConfigNode::make_scalar(objective::number_text(options.mutation_probability), {});
}

void read_trials(const ConfigNode& value, SearchOptions& options) {
  options.trials = read_count(value, 1);
}

ConfigNode write_trials(const SearchOptions& options) {
  if (!options.trials) return {};
  return ConfigNode::make_scalar(std::to_string(*options.trials), {});
}

constexpr std::array kEvolutionKeys{
    count_key<&SearchOptions::iterations, 1>("iterations"),
    count_key<&SearchOptions::initial, 1>("initial"),
    count_key<&SearchOptions::max_unseen, 1>("max_unseen"),
    count_key<&SearchOptions::mutations_per_parent, 0>("mutations_per_parent"),
    count_key<&SearchOptions::crossovers, 0>("crossovers"),
    count_key<&SearchOptions::random_mix, 0>("random_mix"),
    OptionKey{"mutation_probability", read_mutation_probability, write_mutation_probability}};

constexpr std::array kTrialsKeys{OptionKey{"trials", read_trials, write_trials}};

constexpr std::array kAlgorithms{Algorithm{"evolution_pareto", kEvolutionKeys, make<EvolutionPareto>},
                                 Algorithm{"random", kTrialsKeys, make<RandomSearch>},
                                 Algorithm{"exhaustive", kTrialsKeys, make<ExhaustiveSearch>}};

}  // namespace

std::span<const Algorithm> algorithms() {
  return kAlgorithms;
}

}  // namespace skyline::search

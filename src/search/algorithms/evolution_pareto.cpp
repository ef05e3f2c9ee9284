#include "search/algorithms/evolution_pareto.hpp"

#include "skyline/core/error.hpp"

#include "search/counted.hpp"

#include <algorithm>
#include <span>

namespace skyline::search {

using trial::Origin;
using trial::TrialNumber;

EvolutionPareto::EvolutionPareto(const SearchOptions& options, const space::SearchSpace& space,
                                 const objective::ObjectiveSet& objectives, std::uint64_t seed)
    : options_(options), seed_(seed), pool_(space, objectives), front_(objectives.objectives().size()) {
  add_samples(generation_, Origin::kInitial, options_.initial, "initial");
}

std::vector<trial::Proposal> EvolutionPareto::ask(std::size_t room) {
  if (handed_out_ == generation_.size() && untold_ == 0 && !finished()) breed();
  const std::size_t count = std::min(room, generation_.size() - handed_out_);
  const auto first = generation_.begin() + static_cast<std::ptrdiff_t>(handed_out_);
  std::vector<trial::Proposal> proposals(first, first + static_cast<std::ptrdiff_t>(count));
  handed_out_ += count;
  untold_ += count;
  asked_ += count;
  return proposals;
}

void EvolutionPareto::tell(const trial::CommittedTrial& committed) {
  if (committed.trial.phase != trial::Phase::kSearch) return;
  require(untold_ > 0, "the search was told of a trial that it had not asked for");
  --untold_;
  const std::optional<std::vector<double>> values = pool_.objectives().minimized(committed);
  if (!values) return;
  std::vector<std::size_t> removed;
  if (!front_.insert(committed.trial.number, *values, &removed)) return;
  parents_[committed.trial.number] = committed.trial.proposal.architecture;
  for (const std::size_t number : removed) parents_.erase(number);
}

bool EvolutionPareto::finished() const {
  if (exhausted_) return true;
  return iteration_ + 1 == options_.iterations && handed_out_ == generation_.size();
}

std::string EvolutionPareto::finish_reason() const {
  if (exhausted_) return pool_.exhaustion_reason();
  return counted(options_.iterations, "iteration") + " done";
}

std::size_t EvolutionPareto::expected_trials() const {
  if (exhausted_) return asked_;
  const std::size_t later_generations = options_.iterations - iteration_ - 1;
  const std::size_t bound =
      asked_ + generation_.size() - handed_out_ + later_generations * options_.max_unseen;
  return std::min(bound, static_cast<std::size_t>(pool_.space().genotype_count()));
}

RandomStream EvolutionPareto::stream(std::string_view purpose) const {
  return RandomStream(derive_seed(seed_, "search.evolution_pareto." + std::string(purpose), {iteration_}));
}

void EvolutionPareto::breed() {
  ++iteration_;
  handed_out_ = 0;
  generation_ = later_generation();
  // Without parents, or where their surroundings are exhausted, the search starts anew elsewhere.
  if (generation_.empty()) {
    add_samples(generation_, Origin::kInitial, std::min(options_.initial, options_.max_unseen), "initial");
  }
  exhausted_ = generation_.empty();
}

EvolutionPareto::Generation EvolutionPareto::later_generation() {
  Generation generation;
  add_mutants(generation);
  add_crossovers(generation);
  add_samples(generation, Origin::kRandom, options_.random_mix, "random_mix");
  RandomStream random = stream("shuffle");
  random.shuffle(std::span(generation));
  while (generation.size() > options_.max_unseen) {
    pool_.release(generation.back().architecture->id);
    generation.pop_back();
  }
  return generation;
}

void EvolutionPareto::add_mutants(Generation& generation) {
  RandomStream random = stream("mutation");
  for (const auto& [number, parent] : parents_) {
    for (std::size_t wanted = 0; wanted < options_.mutations_per_parent; ++wanted) {
      for (int i = 0; i < kMutationTries; ++i) {
        const std::optional<space::Genotype> child = pool_.space().mutate(parent->genotype, random);
        if (child && add(generation, *child, Origin::kMutation, {number})) break;
      }
    }
  }
}

void EvolutionPareto::add_crossovers(Generation& generation) {
  if (parents_.size() < 2) return;
  RandomStream random = stream("crossover");
  const std::vector<std::pair<TrialNumber, ArchitecturePointer>> parents(parents_.begin(), parents_.end());
  for (std::size_t wanted = 0; wanted < options_.crossovers; ++wanted) {
    for (int i = 0; i < kCrossoverTries; ++i) {
      const std::size_t first = random.below(parents.size());
      std::size_t second = random.below(parents.size() - 1);
      if (second >= first) ++second;
      const std::optional<space::Genotype> child =
          pool_.space().cross(parents[first].second->genotype, parents[second].second->genotype, random);
      if (!child) continue;
      if (add(generation, *child, Origin::kCrossover, {parents[first].first, parents[second].first})) break;
    }
  }
}

void EvolutionPareto::add_samples(Generation& generation, Origin origin, std::size_t count,
                                  std::string_view purpose) {
  RandomStream random = stream(purpose);
  for (std::size_t i = 0; i < count; ++i) {
    ArchitecturePointer drawn = pool_.draw(random);
    if (drawn == nullptr) return;
    generation.push_back({std::move(drawn), origin, {}, static_cast<std::uint32_t>(iteration_)});
  }
}

bool EvolutionPareto::add(Generation& generation, const space::Genotype& child, Origin origin,
                          std::vector<TrialNumber> parents) {
  ArchitecturePointer architecture = pool_.candidate(child);
  if (architecture == nullptr) return false;
  pool_.take(architecture->id);
  generation.push_back(
      {std::move(architecture), origin, std::move(parents), static_cast<std::uint32_t>(iteration_)});
  return true;
}

}  // namespace skyline::search

#include "search/algorithms/variation.hpp"

#include <algorithm>
#include <utility>

namespace skyline::search {

ParentPool::ParentPool(const objective::ObjectiveSet& objectives)
    : objectives_(objectives), front_(objectives.objectives().size()) {}

void ParentPool::tell(const trial::CommittedTrial& committed) {
  const std::optional<std::vector<double>> values = objectives_.minimized(committed);
  if (!values) return;
  std::vector<std::size_t> removed;
  const trial::TrialNumber number = committed.trial.number;
  if (!front_.insert(number, *values, &removed)) return;
  std::erase_if(parents_, [&](const Parent& parent) {
    return std::ranges::find(removed, parent.number) != removed.end();
  });
  parents_.insert(std::ranges::upper_bound(parents_, number, {}, &Parent::number),
                  {number, committed.trial.proposal.architecture});
}

std::optional<trial::Proposal> VariationOperators::mutant(const Parent& parent, std::size_t iteration,
                                                          RandomStream& random) {
  for (int i = 0; i < kMutationTries; ++i) {
    const auto mutated = pool_.space().mutate(parent.architecture->genotype, mutation_probability_, random);
    if (auto made = child(mutated, trial::Origin::kMutation, {parent.number}, iteration)) return made;
  }
  return std::nullopt;
}

std::optional<trial::Proposal> VariationOperators::crossover(std::span<const Parent> parents,
                                                             std::size_t iteration, RandomStream& random) {
  for (int i = 0; i < kCrossoverTries; ++i) {
    const std::size_t place = random.below(parents.size());
    std::size_t other_place = random.below(parents.size() - 1);
    if (other_place >= place) ++other_place;
    const Parent& first = parents[place];
    const Parent& second = parents[other_place];
    const auto crossed = pool_.space().cross(*first.architecture, *second.architecture, random);
    if (auto made = child(crossed, trial::Origin::kCrossover, {first.number, second.number}, iteration))
      return made;
  }
  return std::nullopt;
}

std::optional<trial::Proposal> VariationOperators::child(const std::optional<space::Genotype>& genotype,
                                                         trial::Origin origin,
                                                         std::vector<trial::TrialNumber> parents,
                                                         std::size_t iteration) {
  ArchitecturePointer architecture = genotype ? pool_.candidate(*genotype) : nullptr;
  if (architecture == nullptr) return std::nullopt;
  pool_.mark_proposed(architecture->id);
  return pool_.propose(std::move(architecture), origin, std::move(parents), iteration);
}

}  // namespace skyline::search

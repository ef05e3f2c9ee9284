#include "search/algorithms/breeding.hpp"

#include <iterator>
#include <utility>
#include <vector>

namespace skyline::search {

Breeding::Breeding(CandidatePool& pool, double mutation_probability)
    : pool_(pool),
      mutation_probability_(mutation_probability),
      front_(pool.objectives().objectives().size()) {}

void Breeding::tell(const trial::CommittedTrial& committed) {
  const std::optional<std::vector<double>> values = pool_.objectives().minimized(committed);
  if (!values) return;
  std::vector<std::size_t> removed;
  if (!front_.insert(committed.trial.number, *values, &removed)) return;
  parents_[committed.trial.number] = committed.trial.proposal.architecture;
  for (const std::size_t number : removed) parents_.erase(number);
}

std::optional<trial::Proposal> Breeding::mutant(std::size_t place, std::size_t iteration,
                                                RandomStream& random) {
  const auto& [number, architecture] = parent(place);
  for (int i = 0; i < kMutationTries; ++i) {
    const auto mutated = pool_.space().mutate(architecture->genotype, mutation_probability_, random);
    if (auto made = child(mutated, trial::Origin::kMutation, {number}, iteration)) return made;
  }
  return std::nullopt;
}

std::optional<trial::Proposal> Breeding::crossover(std::size_t iteration, RandomStream& random) {
  for (int i = 0; i < kCrossoverTries; ++i) {
    const std::size_t first = random.below(parents_.size());
    std::size_t second = random.below(parents_.size() - 1);
    if (second >= first) ++second;
    const auto& [number, left] = parent(first);
    const auto& [other, right] = parent(second);
    const auto crossed = pool_.space().cross(left->genotype, right->genotype, random);
    if (auto made = child(crossed, trial::Origin::kCrossover, {number, other}, iteration)) return made;
  }
  return std::nullopt;
}

const Breeding::Parents::value_type& Breeding::parent(std::size_t place) const {
  return *std::next(parents_.begin(), static_cast<std::ptrdiff_t>(place));
}

std::optional<trial::Proposal> Breeding::child(const std::optional<space::Genotype>& genotype,
                                               trial::Origin origin, std::vector<trial::TrialNumber> parents,
                                               std::size_t iteration) {
  ArchitecturePointer architecture = genotype ? pool_.candidate(*genotype) : nullptr;
  if (architecture == nullptr) return std::nullopt;
  pool_.take(architecture->id);
  return pool_.propose(std::move(architecture), origin, std::move(parents), iteration);
}

}  // namespace skyline::search

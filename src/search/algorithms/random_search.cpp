#include "search/algorithms/random_search.hpp"

#include "search/counted.hpp"

#include <algorithm>

namespace skyline::search {

RandomSearch::RandomSearch(const SearchOptions& options, const space::SearchSpace& space,
                           const objective::ObjectiveSet& objectives, std::uint64_t seed)
    : pool_(space, objectives),
      random_(derive_seed(seed, "search.random")),
      trials_(options.trials.value_or(kDefaultTrials)) {}

std::vector<trial::Proposal> RandomSearch::ask(std::size_t room) {
  const std::size_t wanted = std::min({room, CandidatePool::kLargestAsk, trials_ - asked_});
  std::vector<trial::Proposal> proposals;
  while (proposals.size() < wanted && !exhausted_) {
    ArchitecturePointer drawn = pool_.draw(random_);
    exhausted_ = drawn == nullptr;
    if (drawn != nullptr) proposals.push_back({std::move(drawn), trial::Origin::kRandom, {}, 0});
  }
  asked_ += proposals.size();
  return proposals;
}

std::string RandomSearch::finish_reason() const {
  return exhausted_ ? pool_.exhaustion_reason() : counted(trials_, "trial") + " done";
}

std::size_t RandomSearch::expected_trials() const {
  if (exhausted_) return asked_;
  return std::min(trials_, static_cast<std::size_t>(pool_.space().genotype_count()));
}

}  // namespace skyline::search

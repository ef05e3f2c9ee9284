#include "search/algorithms/exhaustive_search.hpp"

#include "search/counted.hpp"

#include <algorithm>
#include <limits>

namespace skyline::search {

ExhaustiveSearch::ExhaustiveSearch(const SearchOptions& options, const space::SearchSpace& space,
                                   const objective::ObjectiveSet& objectives, std::uint64_t)
    : pool_(space, objectives), trials_(options.trials) {}

std::vector<trial::Proposal> ExhaustiveSearch::ask(std::size_t room) {
  const std::size_t left = trials_.value_or(std::numeric_limits<std::size_t>::max()) - asked_;
  const std::size_t wanted = std::min({room, CandidatePool::kLargestAsk, left});
  std::vector<trial::Proposal> proposals;
  for (std::size_t looked_at = 0; proposals.size() < wanted; ++looked_at) {
    if (next_genotype_ == pool_.space().genotype_count()) break;
    if (looked_at >= kLargestLook && !proposals.empty()) break;
    ArchitecturePointer found = pool_.candidate(pool_.space().genotype_at(next_genotype_++));
    if (found == nullptr) continue;
    pool_.take(found->id);
    proposals.push_back({std::move(found), trial::Origin::kEnumerated, {}, 0});
  }
  asked_ += proposals.size();
  return proposals;
}

bool ExhaustiveSearch::finished() const {
  return asked_ == trials_ || next_genotype_ == pool_.space().genotype_count();
}

std::string ExhaustiveSearch::finish_reason() const {
  if (asked_ == trials_) return counted(asked_, "trial") + " done";
  return all_evaluated_text(asked_);
}

std::size_t ExhaustiveSearch::expected_trials() const {
  const auto unseen = static_cast<std::size_t>(pool_.space().genotype_count() - next_genotype_);
  return std::min(trials_.value_or(std::numeric_limits<std::size_t>::max()), asked_ + unseen);
}

}  // namespace skyline::search

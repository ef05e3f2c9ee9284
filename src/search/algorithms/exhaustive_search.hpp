#pragma once

#include "skyline/search/searcher.hpp"

#include "search/candidate_pool.hpp"

namespace skyline::search {

/// Every valid architecture once, in the order of genotypes, or the first so many of them; needs no results.
class ExhaustiveSearch final : public Searcher {
 public:
  /// An ask that has found something looks at no more genotypes than this.
  static constexpr std::size_t kLargestLook = 10'000;

  /// The seed plays no part.
  ExhaustiveSearch(const SearchOptions& options, const space::SearchSpace& space,
                   const objective::ObjectiveSet& objectives, std::uint64_t seed);

  std::vector<trial::Proposal> ask(std::size_t room) override;
  void tell(const trial::CommittedTrial&) override {}
  bool finished() const override;
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;

 private:
  CandidatePool pool_;
  std::optional<std::size_t> trials_;
  std::size_t asked_ = 0;
  std::int64_t next_genotype_ = 0;
};

}  // namespace skyline::search

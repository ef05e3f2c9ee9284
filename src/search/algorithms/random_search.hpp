#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/searcher.hpp"

#include "search/candidate_pool.hpp"

namespace skyline::search {

/// Random samples of the valid architectures, none twice; needs no results. The control of every comparison.
class RandomSearch final : public Searcher {
 public:
  static constexpr std::size_t kDefaultTrials = 100;

  RandomSearch(const SearchOptions& options, const space::SearchSpace& space,
               const objective::ObjectiveSet& objectives, std::uint64_t seed);

  std::vector<trial::Proposal> ask(std::size_t room) override;
  void tell(const trial::CommittedTrial&) override {}
  bool finished() const override { return exhausted_ || asked_ == trials_; }
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;

 private:
  CandidatePool pool_;
  RandomStream random_;
  std::size_t trials_;
  std::size_t asked_ = 0;
  bool exhausted_ = false;
};

}  // namespace skyline::search

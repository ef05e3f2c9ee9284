#include "skyline/search/candidate_pool.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace skyline::search {
namespace {

struct ExhaustiveOptions {
  std::optional<std::size_t> trials;
};

/// Proposes every valid architecture once, in the order of genotypes, or the first so many of them. It needs
/// no results and no seed.
class ExhaustiveSearch final : public Searcher {
 public:
  ExhaustiveSearch(const ExhaustiveOptions& options, const SearchProblem& problem)
      : pool_(problem.space, problem.objectives, problem.budget),
        trials_(options.trials.value_or(std::numeric_limits<std::size_t>::max())) {}

  Answer ask(std::size_t room) override {
    const std::size_t wanted = std::min({room, CandidatePool::kLargestAsk, trials_ - asked_});
    std::vector<trial::Proposal> proposals;
    const std::size_t end = pool_.looks() + CandidatePool::kLooksOfAnAsk;
    while (proposals.size() < wanted && next_genotype_ < pool_.space().genotype_count() &&
           pool_.looks() < end) {
      ArchitecturePointer found = pool_.candidate(pool_.space().genotype_at(next_genotype_++));
      if (found == nullptr) continue;
      pool_.take(found->id);
      proposals.push_back(pool_.propose(std::move(found), trial::Origin::kEnumerated));
    }
    asked_ += proposals.size();
    const bool has_more = proposals.size() < wanted && !finished();
    return {std::move(proposals), has_more ? Answer::State::kMore : Answer::State::kAnswered};
  }

  void tell(const trial::CommittedTrial&) override {}
  bool needs_results() const override { return false; }

  bool finished() const override {
    return asked_ == trials_ || next_genotype_ == pool_.space().genotype_count();
  }

  std::string finish_reason() const override {
    if (asked_ == trials_) return counted(asked_, "trial") + " done";
    return all_evaluated_text(asked_);
  }

  std::size_t expected_trials() const override {
    const auto unseen = static_cast<std::size_t>(pool_.space().genotype_count() - next_genotype_);
    return std::min(trials_, asked_ + unseen);
  }

 private:
  CandidatePool pool_;
  std::size_t trials_;
  std::size_t asked_ = 0;
  std::int64_t next_genotype_ = 0;
};

}  // namespace

Algorithm exhaustive_search() {
  const OptionTable<ExhaustiveOptions> options{
      {"trials", &ExhaustiveOptions::trials,
       or_word("all", whole<std::size_t>(at_least(1).at_most(kMostCounted))),
       "Maximum number of trials of the search.", KeyRule::kMayChange}};
  return make_algorithm<ExhaustiveSearch>(
      "exhaustive", "Every valid architecture once, ordered by the parameters: the last one varies fastest.",
      options);
}

}  // namespace skyline::search

#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"

#include <algorithm>
#include <utility>

namespace skyline::search {
namespace {

struct RandomOptions {
  std::size_t trials = 100;
};

/// Proposes random samples of the valid architectures, none twice. It needs no results, and is the control of
/// every comparison.
class RandomSearch final : public Searcher {
 public:
  RandomSearch(const RandomOptions& options, const SearchProblem& problem)
      : pool_(problem.space, problem.objectives, problem.budget),
        random_(derive_seed(problem.seed, "search.random")),
        trials_(options.trials) {}

  Answer ask(std::size_t room) override {
    const std::size_t wanted = std::min({room, CandidatePool::kLargestAsk, trials_ - asked_});
    std::vector<trial::Proposal> proposals;
    const std::size_t end = pool_.looks() + CandidatePool::kLooksOfAnAsk;
    while (proposals.size() < wanted && !exhausted_ && pool_.looks() < end) {
      ArchitecturePointer drawn = pool_.draw(random_);
      exhausted_ = drawn == nullptr;
      if (drawn != nullptr) proposals.push_back(pool_.propose(std::move(drawn), trial::Origin::kRandom));
    }
    asked_ += proposals.size();
    const bool has_more = proposals.size() < wanted && !exhausted_;
    return {std::move(proposals), has_more ? Answer::State::kMore : Answer::State::kAnswered};
  }

  void tell(const trial::CommittedTrial&) override {}
  bool needs_results() const override { return false; }
  bool finished() const override { return exhausted_ || asked_ == trials_; }
  bool gave_up() const override { return exhausted_ && !pool_.is_exhausted(); }

  std::string finish_reason() const override {
    return exhausted_ ? pool_.exhaustion_reason() : counted(trials_, "trial") + " done";
  }

  std::size_t expected_trials() const override {
    if (exhausted_) return asked_;
    return std::min(trials_, pool_.most_candidates());
  }

 private:
  CandidatePool pool_;
  RandomStream random_;
  std::size_t trials_;
  std::size_t asked_ = 0;
  bool exhausted_ = false;
};

}  // namespace

Algorithm random_search() {
  const OptionTable<RandomOptions> options{{"trials", &RandomOptions::trials,
                                            at_least(1).at_most(kMostCounted),
                                            "Maximum number of trials of the search.", KeyRule::kMayChange}};
  return make_algorithm<RandomSearch>(
      "random", "Random valid architectures, the control of every comparison.", options);
}

}  // namespace skyline::search

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace skyline::search {
namespace {

struct ExhaustiveOptions {
  std::optional<std::size_t> trials;
};

/// Refuses a space that would take long to look through. The attempts that it takes are estimated from random
/// genotypes: one stands for all that differ in nothing on which its network depends. @throws UserError
void check_size(const space::SearchSpace& space) {
  constexpr long double kMostAttempts = 1e7;
  constexpr long double kMostSteps = 1e9;  // steps of building networks, some quarter of an hour
  constexpr int kSampled = 500;
  constexpr std::int64_t kFew = 100'000;
  if (space.genotype_count() <= kFew) return;
  long double genotypes = 1;
  for (const space::Parameter& parameter : space.parameters()) {
    genotypes *= static_cast<long double>(parameter.values.size());
  }
  RandomStream random(derive_seed(0, "search.exhaustive"));
  long double share = 0;
  long double steps = 0;
  for (int i = 0; i < kSampled; ++i) {
    const space::BuildAttempt attempt = space.try_build(space.sample_evenly(random));
    long double each = 1.0L / kSampled;
    for (std::size_t p = 0; p < attempt.reads.size(); ++p) {
      if (!attempt.reads[p]) each /= static_cast<long double>(space.parameters()[p].values.size());
    }
    share += each;
    steps += each * static_cast<long double>(attempt.steps);
  }
  genotypes = space.count_kept().value_or(genotypes);
  if (genotypes * share <= kMostAttempts && genotypes * steps <= kMostSteps) return;
  std::ostringstream attempts;
  attempts << std::setprecision(2) << genotypes * share;
  throw UserError("search.algorithm: exhaustive would look at about " + attempts.str() +
                  " genotypes one by one, which takes too long; `random` draws different ones of any space");
}

/// Proposes every valid architecture once, in the order of genotypes, or the first so many of them. It needs
/// no results and no seed. A resumed search looks at all genotypes again, so a space that takes long to look
/// through is refused.
class ExhaustiveSearch final : public Searcher {
 public:
  ExhaustiveSearch(const ExhaustiveOptions& options, const SearchProblem& problem)
      : pool_(problem.space, problem.objectives, problem.budget, {}, problem.counter),
        walk_(pool_.space()),
        trials_(options.trials.value_or(kUnlimited)) {
    check_size(pool_.space());
  }

  Answer ask(std::size_t room) override {
    const std::size_t wanted = std::min({room, CandidatePool::kLargestAsk, trials_ - asked_});
    std::vector<trial::Proposal> proposals;
    const std::size_t end = pool_.attempts() + CandidatePool::kAttemptsOfAnAsk;
    while (proposals.size() < wanted && !walk_.finished() && pool_.attempts() < end) {
      std::vector<bool> reads;
      ArchitecturePointer found = pool_.candidate(walk_.current(), &reads);
      walk_.advance(reads);
      if (found == nullptr) continue;
      pool_.mark_proposed(found->id);
      proposals.push_back(pool_.propose(std::move(found), trial::Origin::kEnumerated));
    }
    asked_ += proposals.size();
    const bool has_more = proposals.size() < wanted && !finished();
    return {std::move(proposals), has_more ? Answer::State::kMore : Answer::State::kAnswered};
  }

  void tell(const trial::CommittedTrial&) override {}
  void allow_one_more() override { trials_ += trials_ == kUnlimited ? 0 : 1; }
  bool needs_results() const override { return false; }

  bool finished() const override { return asked_ == trials_ || walk_.finished(); }

  std::string finish_reason() const override {
    if (asked_ == trials_) return counted(asked_, "trial") + " done";
    return all_evaluated_text(asked_);
  }

  std::size_t expected_trials() const override {
    const auto unseen = static_cast<std::size_t>(pool_.space().genotype_count() - walk_.number());
    return std::min({trials_, asked_ + unseen, pool_.most_candidates()});
  }

  std::string progress_summary() const override {
    return "looked at " + std::to_string(walk_.number()) + " of " +
           counted(static_cast<std::size_t>(pool_.space().genotype_count()), "genotype");
  }

 private:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  CandidatePool pool_;
  space::GenotypeWalk walk_;
  std::size_t trials_;
  std::size_t asked_ = 0;
};

}  // namespace

Algorithm exhaustive_search() {
  const OptionTable<ExhaustiveOptions> options{
      {"trials", &ExhaustiveOptions::trials,
       or_keyword("all", integer<std::size_t>(at_least(1).at_most(kMostCounted))),
       "Maximum number of trials of the search.", KeyRule::kMayChange}};
  return make_algorithm<ExhaustiveSearch>(
      "exhaustive", "Every valid architecture once, ordered by the parameters: the last one varies fastest.",
      options);
}

}  // namespace skyline::search

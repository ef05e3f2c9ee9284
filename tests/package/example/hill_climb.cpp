#include "additions.hpp"

#include <skyline/core/random.hpp>
#include <skyline/search/candidate_pool.hpp>
#include <skyline/search/pareto.hpp>

using namespace skyline;

namespace {

struct HillClimbOptions {
  std::size_t trials = 20;
};

/// Mutants of the front, one trial after the other; random architectures where there is no mutant.
class HillClimb final : public search::Searcher {
 public:
  HillClimb(const HillClimbOptions& options, const search::SearchProblem& problem)
      : trials_(options.trials),
        pool_(problem.space, problem.objectives, problem.budget, {}, problem.counter),
        front_(problem.objectives.objectives().size()),
        random_(derive_seed(problem.seed, "hill_climb")) {}

  search::Answer ask(std::size_t /*room*/) override {
    if (asked_ > told_.size() || finished()) return {};  // waits for the last result
    std::vector<trial::TrialNumber> parents;
    search::ArchitecturePointer child = mutant(parents);
    if (child == nullptr) child = pool_.draw(random_);
    exhausted_ = child == nullptr;
    if (exhausted_) return {};
    ++asked_;
    const trial::Origin origin = parents.empty() ? trial::Origin::kRandom : trial::Origin("uphill");
    return {{pool_.propose(std::move(child), origin, std::move(parents))}};
  }

  void tell(const trial::CommittedTrial& committed) override {
    told_.push_back(committed.trial.proposal.architecture);
    const auto values = pool_.objectives().minimized(committed);
    if (values) front_.insert(committed.trial.number, *values);
  }

  bool finished() const override { return exhausted_ || asked_ == trials_; }
  bool gave_up() const override { return exhausted_ && !pool_.is_exhausted(); }
  std::string finish_reason() const override {
    return exhausted_ ? pool_.exhaustion_reason() : "the climb is over";
  }
  std::size_t expected_trials() const override { return trials_; }

 private:
  search::ArchitecturePointer mutant(std::vector<trial::TrialNumber>& parents) {
    if (front_.size() == 0) return nullptr;
    const std::size_t parent = front_.keys()[random_.below(front_.size())];
    const auto genotype = pool_.space().mutate(told_[parent]->genotype, 0.5, random_);
    search::ArchitecturePointer child = genotype ? pool_.candidate(*genotype) : nullptr;
    if (child == nullptr) return nullptr;
    pool_.mark_proposed(child->id);
    parents = {parent};
    return child;
  }

  std::size_t trials_;
  std::size_t asked_ = 0;
  bool exhausted_ = false;
  std::vector<search::ArchitecturePointer> told_;  // architectures with results, by number
  search::CandidatePool pool_;
  search::ParetoArchive front_;
  RandomStream random_;
};

}  // namespace

search::Algorithm hill_climb() {
  const OptionTable<HillClimbOptions> options{
      {"trials", &HillClimbOptions::trials, at_least(1), "Trials of the search."}};
  return search::make_algorithm<HillClimb>("hill_climb", "Mutants of the front, one after the other.",
                                           options);
}

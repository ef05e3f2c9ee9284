#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "search/algorithms/known_order.hpp"
#include "search/algorithms/rung_system.hpp"
#include "search/model/candidate_set.hpp"
#include "search/model/cost_estimate.hpp"
#include "search/model/trial_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::search {

/// A trial that may be continued.
struct PromotionCandidate {
  CandidatePointer candidate;  // its architecture
  double epochs = 0;           // number of epochs to the next rung
  RungSystem::Position position;
};

/// How an algorithm chooses a trial by a model. Only the thinking thread of a ModelSearcher calls it.
class AcquisitionStrategy {
 public:
  /// What it chooses from. The references stay valid as long as the strategy lives.
  struct Context {
    CandidatePool& pool;
    const Embedding& embedding;
    TrialModel& model;
    CostEstimate* costs = nullptr;                    // nullptr if no program counts costs
    std::uint64_t number = 0;                         // number of trials that were chosen before
    std::size_t threads = 1;                          // how many may compute
    double epochs = 0;                                // epochs of a new trial
    std::vector<PromotionCandidate> promotions = {};  // none where trials are not continued
    bool begins = true;  // whether it may choose an architecture that was not proposed
  };

  virtual ~AcquisitionStrategy() = default;
  /// Returns the choice, which was not proposed yet or is a promotion candidate; nullptr if no candidate was
  /// found. It depends on the context and the random stream alone.
  virtual CandidatePointer choose(const Context& context, RandomStream& random) = 0;
};

/// A searcher that chooses trials by a model of all results so far (TrialModel). It thinks on a thread of its
/// own.
///
/// A batch of proposals is chosen at once, from the results that are known when its first one is asked for.
/// With several budgets trials begin on the first rung, and a choice is a new architecture or a
/// trial that goes on.
class ModelSearcher : public Searcher {
 public:
  struct Options {
    std::string name;  // name of the algorithm, which seeds its random streams
    std::size_t trials = 0;
    std::size_t batch = 1;
    std::size_t first = 0;      // trials that are chosen without a model
    bool are_far_apart = true;  // unknown first trials are far from each other instead of random
    std::optional<std::vector<double>> budgets = {};  // trials begin with the first and may be continued
  };

  ModelSearcher(Options options, const SearchProblem& problem, std::unique_ptr<AcquisitionStrategy> strategy)
      : options_(std::move(options)),
        seed_(problem.seed),
        budget_(problem.budget),
        steps_(problem.steps),
        counter_(problem.counter),
        pool_(
            problem.space, problem.objectives, problem.budget, [this] { leave_if_stopped(); }, counter_),
        known_results_(some_known(problem)),
        best_known_(best_known(problem)),
        strategy_(std::move(strategy)),
        places_(options_.trials) {
    if (options_.budgets) rungs_.emplace(pool_, RungOptions{options_.budgets}, problem);
  }
  ModelSearcher(const ModelSearcher&) = delete;
  ModelSearcher& operator=(const ModelSearcher&) = delete;
  ~ModelSearcher() override { stop_.request_stop(); }

  Answer ask(std::size_t room) override;
  bool accept(const trial::Proposal& recorded) override;
  void tell(const trial::CommittedTrial& committed) override { tell_mean(committed, 1); }
  void tell_mean(const trial::CommittedTrial& mean, std::size_t count) override;
  void allow_one_more() override { ++options_.trials; }
  void think_on(ThreadCount threads) override { threads_ = std::move(threads); }
  void stop() override { stop_.request_stop(); }
  bool finished() const override { return exhausted_ || made_ >= options_.trials; }
  bool gave_up() const override { return exhausted_ && !rest_->is_exhausted(); }
  std::string finish_reason() const override;
  std::string progress_summary() const override;
  bool may_continue(trial::TrialNumber number) const override;
  std::size_t expected_trials() const override {
    const std::size_t architectures = std::min(options_.trials, pool_.most_candidates());
    return exhausted_ ? made_
                      : std::min(options_.trials, architectures * (rungs_ ? rungs_->budgets().size() : 1));
  }

 private:
  /// A trial in the order of proposals.
  struct Proposed {
    ArchitecturePointer architecture;
    CandidatePointer candidate;                    // nullptr until the model needs it
    std::optional<trial::Expected> expected = {};  // prediction of the model that chose it
    double epochs = 0;
  };

  /// A result that the model does not have yet.
  struct PendingObservation {
    trial::CommittedTrial committed;
    std::size_t count = 1;  // number of results whose mean it is
  };

  /// A result of a trial that a model chose.
  struct Checked {
    double error = 0;        // distance from what was expected
    bool is_within = false;  // within one standard deviation
  };

  /// What a thought throws to end when the run stops.
  struct Stopped {};

  void leave_if_stopped() const {
    if (stop_.stop_requested()) throw Stopped();
  }
  RandomStream stream(std::string_view purpose, std::uint64_t number) const {
    return RandomStream(derive_seed(seed_, "search." + options_.name + "." + std::string(purpose), {number}));
  }
  void begin_batch();
  std::vector<trial::Proposal> think();
  void choose(std::vector<trial::Proposal>& batch);
  void prepare();
  void count_first();
  void learn();
  void learn(const trial::CommittedTrial& committed, std::size_t count);
  double longest_way() const;
  double log_share(double epochs) const;
  CandidatePointer point_of(const Proposed& trial) const;
  bool is_cheap_turn() const;
  bool may_rise(const RungSystem::Position& position) const;
  void add_promotions(AcquisitionStrategy::Context& context) const;
  CandidatePointer best_promotion(const AcquisitionStrategy::Context& context) const;
  bool must_promote_to_top() const;
  bool has_promoted_to_top() const;
  CandidatePointer next_of_first() const;
  CandidatePointer farthest_of_first(std::int64_t least_flops) const;
  CandidatePointer any_other();
  trial::Proposal begin(const Candidate& chosen, trial::Origin origin);

  Options options_;
  std::uint64_t seed_;
  trial::Budget budget_;
  std::vector<std::int64_t> steps_;  // SearchProblem::steps
  ThreadCount threads_ = [] { return std::size_t{1}; };
  std::stop_source stop_;
  std::deque<trial::Proposal> ready_;  // chosen and not handed out
  std::size_t results_ = 0;            // number of results
  bool exhausted_ = false;
  bool awaits_promotion_to_top_ =
      false;                     // the next proposal that was recorded is one, and results are missing
  bool ends_batch_ = false;      // nothing is left for the rest of the batch, by the results when it began
  std::deque<Checked> checked_;  // the newest ones
  // While the searcher thinks, its thread reads the next two members, which nobody changes then, and it alone
  // uses the members after them.
  std::size_t made_ = 0;      // number of proposals that were handed out or accepted
  std::size_t known_ = 0;     // number of results when the present batch began
  std::size_t in_rungs_ = 0;  // number of results that the rungs have: those, once the batch began
  std::optional<RungSystem> rungs_;
  std::shared_ptr<CostCounter> counter_;  // nullptr if no program counts costs
  CandidatePool pool_;
  std::optional<CandidatePool> rest_;       // fresh pool of any_other(), if it was needed
  std::deque<PendingObservation> pending_;  // results that the model does not have yet
  std::size_t learned_ = 0;                 // number of results that it has
  std::vector<Proposed> proposed_;          // indexed by number
  std::vector<bool> has_result_;            // indexed by number
  std::optional<Embedding> embedding_;
  std::optional<TrialModel> model_;
  std::optional<CostEstimate> costs_;  // there if a program counts costs
  std::size_t in_costs_ = 0;           // number of trials that it has
  std::vector<trial::CommittedTrial> known_results_;
  std::vector<ArchitecturePointer> best_known_;
  std::unique_ptr<AcquisitionStrategy> strategy_;
  std::vector<CandidatePointer> first_;  // random candidates for the first trials
  std::int64_t large_flops_ = 0;         // least FLOPs of a large network among them
  std::size_t places_;  // how many trials may be proposed, by the results that are known to the present batch
  std::future<std::vector<trial::Proposal>> thought_;  // destroyed first, which waits for the thread
};

}  // namespace skyline::search

#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/work/engine_options.hpp"
#include "run/run_state.hpp"
#include "search/pruning_bars.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace skyline::engine {

/// Makes the trials of a run from the searchers' proposals: adds numbers, seeds, groups, the parents whose
/// weights they start from, and the bars below which they are pruned. They depend only on the proposals and
/// commits so far.
class TrialMaker {
 public:
  /// The referenced objects must outlive the maker.
  /// @param bars  without a value no trial is pruned
  TrialMaker(const EngineOptions& options, const trial::Evaluator& evaluator, const run::RunState& state,
             std::optional<search::PruningBars> bars = {});
  trial::Trial make(trial::Proposal proposal);
  /// Adds the bars to a trial that must be trained. One whose result is known needs none, and they cost a
  /// sort of many values.
  void add_bars(trial::Trial& trial);
  /// Notes that the searcher is told a result: bars depend on what it knows.
  void told(const trial::CommittedTrial& committed) {
    if (bars_) bars_->tell(committed);
  }
  /// Returns the number of the next search trial.
  trial::TrialNumber next() const { return next_; }
  /// Returns whether a trial depends on the commits when it is made, beyond what the searcher knows.
  bool depends_on_commits() const { return options_.inherit; }
  /// Notes that a trial's result, and its kept state, come from an earlier job.
  void recorded(const trial::Trial& trial);

 private:
  trial::Start start_of(const trial::Proposal& proposal) const;
  void complete(trial::Continue& start, trial::Proposal& proposal) const;

  const EngineOptions& options_;
  const trial::Evaluator& evaluator_;
  const run::RunState& state_;
  std::optional<search::PruningBars> bars_;
  trial::TrialNumber next_ = 0;  // number of the next search trial
  std::vector<bool> recorded_;   // indexed by number of search trial
};

/// Returns the seed of a trial's training, which depends only on the arguments. The training parameters are
/// part of the arch id.
std::uint64_t trial_seed(std::uint64_t run_seed, space::ArchId arch, const trial::Budget& horizon,
                         std::uint32_t repeat, std::uint32_t final_repeat = 0);

/// Returns the start of a proposal: the weights of the parent that fills the greater share of its parameters
/// (the first of equal ones), or fresh if it has nothing in common with any. A function of its arguments.
/// @param heritable  returns a committed search trial whose weights exist and are kept, or nullptr
/// @param folders    trials leave folders in place of weights, each of which counts as a whole
trial::Start choose_start(const trial::Proposal& proposal,
                          const std::function<run::SharedTrial(trial::TrialNumber)>& heritable,
                          bool folders = false);

}  // namespace skyline::engine

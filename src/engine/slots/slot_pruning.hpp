#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/work/run_files.hpp"
#include "engine/work/storage_calls.hpp"
#include "run/run_state.hpp"
#include "search/pruning_bars.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skyline::engine {

/// Facts that all slots of a rank need to compare their trials with others. `files` must outlive it.
struct RankPruning {
  const RunFiles& files;
  search::StepComparison comparison;
  std::shared_ptr<RareWarning> warning = std::make_shared<RareWarning>();
};

/// The comparison of the trial that a slot trains. The values after declared steps are in a file of the run
/// before the evaluator hears the decision, so that each attempt at the trial, in each job, decides alike.
/// Used by the slot's thread.
class SlotPruning final : public trial::TrialPruning {
 public:
  /// Reads what an earlier attempt has written. @param trial  must outlive this object; it has bars
  SlotPruning(std::shared_ptr<RankPruning> rank, const trial::Trial& trial);

  std::span<const Decision> decisions() const override { return decisions_; }
  std::vector<std::string> compared() const override { return rank_->comparison.measured(); }
  /// A step before the last decided one, which an earlier attempt has not reported, is not compared: the
  /// present decision stands.
  bool decide(const trial::CurvePoint& point) override;
  /// Adds the values after declared steps to a result. A pruned trial has those up to the first step at which
  /// it was told to end, and that step's values, however late its trainer noticed.
  /// @param overran  whether a trial that was stopped was so by its time limit: it is pruned if it was told
  ///                 to end before
  void complete(trial::Outcome& outcome, bool overran) const;

 private:
  void compare(trial::StepValues step);
  void write();

  std::shared_ptr<RankPruning> rank_;
  const trial::Trial& trial_;
  std::string provenance_;
  std::vector<trial::StepValues> steps_;
  std::vector<Decision> decisions_;  // one for each of the steps
};

/// Removes the values of trials in flight, on rank 0, when their results are in the journal.
class StepValuesRemoval final : public run::RunListener {
 public:
  /// @param files  must outlive the queued jobs
  explicit StepValuesRemoval(const RunFiles& files) : files_(files) {}
  void committed(const run::Commit& commit, const run::RunState& state) override;

 private:
  const RunFiles& files_;
  std::shared_ptr<RareWarning> warning_ = std::make_shared<RareWarning>();
};

}  // namespace skyline::engine

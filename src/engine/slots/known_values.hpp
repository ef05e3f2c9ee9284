#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/work/run_files.hpp"
#include "run/run_state.hpp"
#include "search/pruning_bars.hpp"
#include "store/journal/known_values.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::engine {

/// Returns whether programs are asked before a training.
bool asks_before(const std::vector<trial::Metric>& metrics);

/// Facts that all slots of a rank need to keep what is known of their trials. `files` must outlive it.
struct RankValues {
  const RunFiles& files;
  std::optional<search::StepComparison> comparison;  // nullopt if no trial is pruned
  std::shared_ptr<RareWarning> warning = std::make_shared<RareWarning>();
};

/// What is known of the trial that a slot trains before it has ended: in a file of the run, so that each
/// attempt at the trial, in each job, knows it. Used by the slot's thread.
class KnownValues final : public trial::EarlyValues {
 public:
  /// Reads what an earlier attempt has written. @param trial  must outlive this object
  KnownValues(std::shared_ptr<RankValues> rank, const trial::Trial& trial);

  const ByMetric& known() const override { return values_.early; }
  ByMetric of_search() const override;
  void keep(const std::string& metric, double value) override;
  const std::vector<trial::StepValues>& steps() const { return values_.steps; }
  /// Keeps the values after a declared step.
  void keep(trial::StepValues step);

  const trial::Trial& trial() const { return trial_; }
  const RankValues& rank() const { return *rank_; }

 private:
  void write() const;

  std::shared_ptr<RankValues> rank_;
  const trial::Trial& trial_;
  std::string provenance_;
  store::KnownValues values_;
};

/// Removes, on rank 0, what was known of trials once nobody needs it: when their results are in the journal,
/// but early values of a search trial when it left the front for ever, because a full training takes them.
class KnownValuesRemoval final : public run::RunListener {
 public:
  /// @param files  must outlive the queued jobs
  /// @param keeps_search  whether trials that are not on the front may be trained in full
  KnownValuesRemoval(const RunFiles& files, bool keeps_search)
      : files_(files), asks_(asks_before(files.header.metrics)), keeps_search_(keeps_search) {}
  /// What a replay finds goes with the next new commit.
  void committed(const run::Commit& commit, const run::RunState& state) override;

 private:
  const RunFiles& files_;
  const bool asks_;
  const bool keeps_search_;
  std::vector<trial::TrialName> unneeded_;
  std::shared_ptr<RareWarning> warning_ = std::make_shared<RareWarning>();
};

/// The comparison of the trial that a slot trains. Its values after declared steps are kept before the
/// evaluator hears the decision, so that each attempt at the trial, in each job, decides alike. Used by the
/// slot's thread.
class SlotPruning final : public trial::TrialPruning {
 public:
  /// @param known  what is known of a trial that has bars; must outlive this object
  explicit SlotPruning(KnownValues& known);

  std::span<const Decision> decisions() const override { return decisions_; }
  std::vector<std::string> compared() const override { return comparison().reported(); }
  /// A step before the last decided one, which an earlier attempt has not reported, is not compared: the
  /// present decision stands.
  bool decide(const trial::CurvePoint& point) override;
  /// Adds the values after declared steps to a result. A pruned trial has those up to the first step at which
  /// it was told to end, and that step's values, however late its trainer noticed.
  /// @param overran  whether a trial that was stopped was so by its time limit: it is pruned if it was told
  ///                 to end before
  void complete(trial::Outcome& outcome, bool overran) const;

 private:
  const search::StepComparison& comparison() const { return *known_.rank().comparison; }
  std::vector<double> values_of(const trial::CurvePoint& point) const;
  void compare(const trial::StepValues& step);

  KnownValues& known_;
  std::vector<Decision> decisions_;  // one for each of the known steps
};

}  // namespace skyline::engine

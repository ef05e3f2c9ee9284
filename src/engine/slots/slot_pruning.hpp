#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/slots/known_values.hpp"
#include "search/pruning_bars.hpp"

#include <span>
#include <string>
#include <vector>

namespace skyline::engine {

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

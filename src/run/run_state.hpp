#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/pareto.hpp"
#include "skyline/trial/trial.hpp"

#include "run/account.hpp"
#include "trial/commit_log.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace skyline::store {
struct RankLoss;
}

namespace skyline::run {

/// The values of a front; a copy, for any thread.
struct FrontPoints {
  std::vector<double> minimized;  // row-major [members x num_objectives], every column minimized
};

FrontPoints points_of(const search::ParetoArchive& front);

/// Normalized hypervolume of a front: the share, 0 to 1, that it dominates of the box between the references
/// and the ideals of the objectives. Values that are worse than the reference add nothing.
/// @return  nothing if the objectives have no volume
std::optional<double> volume_of(const objective::ObjectiveSet& objectives, const FrontPoints& points);

using trial::SharedTrial;

/// A commit as the loop makes it; its position stands in the trial.
struct Commit {
  SharedTrial trial;
  bool replayed = false;  // an earlier job of the run had committed it: it is in the journal
};

/// Where a run stands: every commit so far and what follows from them. Fed once per commit, by the loop or by
/// who opens a run. A copy is cheap, for it shares most of the trials: other threads get one.
class RunState {
 public:
  RunState() = default;
  explicit RunState(objective::ObjectiveSet objectives);

  /// @pre commits come in the order of their positions, 0, 1, 2, ...
  void add(const Commit& commit);
  void begin_phase(trial::Phase phase, std::size_t expected);
  void set_in_flight(std::size_t trials) { in_flight_ = trials; }
  /// An empty remark changes nothing: a full training has none, and that of the search stays.
  void set_remark(std::string remark) {
    if (!remark.empty()) remark_ = std::move(remark);
  }
  AccountBook& account() { return account_; }

  const objective::ObjectiveSet& objectives() const { return objectives_; }
  const trial::CommitLog& trials() const { return trials_; }
  /// A trial made anew, as all of trials(). @pre the search trial of this number is committed
  SharedTrial search_trial(trial::TrialNumber number) const;

  /// The front of the search; its keys are numbers of search trials.
  const search::ParetoArchive& front() const { return front_; }
  /// Whether the search trial of this number is on the front.
  bool on_front(trial::TrialNumber number) const { return members_.contains(number); }
  /// The full trainings of a search trial, the latest last.
  std::span<const SharedTrial> full_trainings(trial::TrialNumber number) const;
  /// Search trials that the last commit pushed off the front, and itself if it is not on it.
  const std::vector<trial::TrialNumber>& left_behind() const { return left_behind_; }
  /// The front as points; the same object until it changes.
  const std::shared_ptr<const FrontPoints>& points() const;
  /// Of the front of the search; nothing if the objectives have no volume.
  std::optional<double> volume() const { return volume_of(objectives_, *points()); }

  /// The budget of the latest full training, which those of the final front have; nothing: there is none.
  const std::optional<trial::Budget>& final_budget() const { return final_budget_; }
  /// The full training of a search trial with that budget; nullptr: there is none.
  SharedTrial final_training(trial::TrialNumber number) const;
  /// The front of the full trainings of the final budget with one another, by their own measurements; its
  /// keys are the numbers of the search trials that they train.
  const search::ParetoArchive& final_front() const { return final_front_; }
  bool on_final_front(trial::TrialNumber number) const { return final_front_.contains(number); }
  std::optional<double> final_volume() const;
  /// Trials on neither front whose full training, by the last commit, is no longer wanted for one of them.
  const std::vector<trial::TrialNumber>& left_final_front() const { return left_final_front_; }
  /// Whether a training is on the front of its phase: of the search, or the final one.
  bool on_its_front(const trial::Trial& trial) const;
  /// Best value of each objective over the successful search trials, in the user's senses; empty: none.
  const std::vector<double>& best() const { return best_; }

  trial::Phase phase() const { return phase_; }
  /// Upper bound of the trials of a phase; 0: it has not begun.
  std::size_t expected(trial::Phase phase) const { return expected_.at(index(phase)); }
  std::size_t committed(trial::Phase phase) const { return committed_.at(index(phase)); }
  /// Committed since the phase began.
  std::size_t done_in_phase() const { return committed(phase_) - before_phase_; }
  std::size_t replayed() const { return replayed_; }
  std::size_t in_flight() const { return in_flight_; }  // asked and not committed
  std::size_t failed() const { return failed_; }
  /// What the search last said about itself (Searcher::remark); empty: nothing.
  const std::string& remark() const { return remark_; }
  const AccountBook& account() const { return account_; }

 private:
  static std::size_t index(trial::Phase phase) { return static_cast<std::size_t>(phase); }
  void add_search_trial(const SharedTrial& trial);
  void add_full_training(const SharedTrial& trial);
  std::vector<SharedTrial> trainings_of(const trial::Budget& budget) const;

  objective::ObjectiveSet objectives_;
  trial::CommitLog trials_;
  search::ParetoArchive front_{1};
  std::unordered_set<trial::TrialNumber> members_;  // of the front
  std::vector<trial::TrialNumber> left_behind_;
  std::vector<trial::TrialNumber> left_final_front_;
  std::map<trial::TrialNumber, std::vector<SharedTrial>> full_trainings_;
  std::optional<trial::Budget> final_budget_;
  search::ParetoArchive final_front_{1};
  std::vector<double> best_;
  mutable std::shared_ptr<const FrontPoints> points_;  // nullptr: not made yet
  trial::Phase phase_ = trial::Phase::kSearch;
  std::array<std::size_t, 2> expected_{};   // by phase
  std::array<std::size_t, 2> committed_{};  // by phase
  std::size_t before_phase_ = 0;            // trials of the phase that were committed when it began
  std::size_t replayed_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t failed_ = 0;
  std::string remark_;
  AccountBook account_;
};

/// Is told on rank 0 how a run goes. Called by the main thread, in the order of events; must be quick.
class RunListener {
 public:
  virtual ~RunListener() = default;
  /// The slots are known; nothing has been asked for.
  virtual void started(const RunState& /*state*/) {}
  /// The search begins, or the full training of its front.
  virtual void phase_begun(const RunState& /*state*/) {}
  virtual void asked(const trial::Trial& /*trial*/) {}
  /// Once for each commit, replayed or new; `state` holds it already.
  virtual void committed(const Commit& /*commit*/, const RunState& /*state*/) {}
  /// The result of a trial cannot be committed before the search has answered, which may take long: told
  /// within a second, once for each such result.
  virtual void waits(const trial::CommittedTrial& /*result*/) {}
  /// Nobody will continue this committed trial any more: its last state is of no use. Of trials that
  /// may_be_continued() alone.
  virtual void released(const trial::Trial& /*trial*/) {}
  /// A rank is lost.
  virtual void lost(const store::RankLoss& /*loss*/) {}
  /// An attempt at this trial is given up: it is trained again.
  virtual void again(trial::TrialName /*trial*/) {}
  /// The run is asked to stop: running trials save their state. Called once, if at all.
  virtual void stopping() {}
  /// About ten times a second.
  virtual void tick(const RunState& /*state*/) {}
};

}  // namespace skyline::run

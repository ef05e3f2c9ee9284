#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/pareto.hpp"
#include "skyline/trial/trial.hpp"

#include "run/account.hpp"
#include "search/pareto/repeated_front.hpp"
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
struct FailedTry;
struct RankLoss;
}  // namespace skyline::store

namespace skyline::run {

/// A copy of the values of a front, which any thread may use.
struct FrontPoints {
  std::vector<double> minimized;  // row-major [members x num_objectives], every column minimized
};

FrontPoints points_of(const search::ParetoArchive& front);

/// Returns the normalized hypervolume of a front: the share, 0 to 1, that it dominates of the box between the
/// references and the ideals of the objectives, each measured on its scale. Values worse than the reference
/// add nothing.
/// @pre each objective has both ends
double volume_between(const std::vector<objective::Objective>& objectives, const FrontPoints& points);
/// Returns the same, or nullopt if an objective has no reference or no ideal.
std::optional<double> volume_of(const objective::ObjectiveSet& objectives, const FrontPoints& points);

using trial::SharedTrial;

/// A commit as the loop makes it. The trial holds its position.
struct Commit {
  SharedTrial trial;
  bool replayed = false;  // true if an earlier job committed it, so that the journal has it
};

/// The state of a run: every commit so far, and the facts that follow from them. Each commit is added once,
/// by the loop or by the code that opens a run. Copies are cheap, because they share most of the trials;
/// other threads get a copy.
class RunState {
 public:
  RunState() = default;
  /// @param repeats  `search.repeats`
  explicit RunState(objective::ObjectiveSet objectives, std::uint32_t repeats = 1);

  /// Adds a commit. @pre commits come in the order of their positions, 0, 1, 2, ...
  void add(const Commit& commit);
  void begin_phase(trial::Phase phase, std::size_t expected);
  /// @param trials  the upper bound of the present phase's trials, as it is known now
  void set_expected(std::size_t trials) { expected_.at(index(phase_)) = trials; }
  /// @param waiting  how many of them have a result, which waits for those before it
  void set_in_flight(std::size_t trials, std::size_t waiting = 0) {
    in_flight_ = trials;
    waiting_ = waiting;
  }
  /// @param chooses  whether the search is thinking about what comes next
  void set_choosing(bool chooses) { chooses_ = chooses; }
  /// Ignores an empty summary: a full training has none, and that of the search stays.
  void set_search_summary(std::string summary) {
    if (!summary.empty()) search_summary_ = std::move(summary);
  }
  SlotUsage& account() { return account_; }

  /// Returns the objectives and constraints of the search.
  const objective::ObjectiveSet& objectives() const { return objectives_; }
  /// Returns those of the final front, which may have more of them.
  const objective::ObjectiveSet& final_objectives() const { return objectives_.of_full_trainings(); }
  /// Returns those by which a trial is compared in its phase.
  const objective::ObjectiveSet& objectives_of(const trial::Trial& trial) const {
    return trial.is_final() ? final_objectives() : objectives();
  }
  const trial::CommitLog& trials() const { return trials_; }
  /// Returns a search trial as a new object, like all of trials(). @pre it is committed
  SharedTrial search_trial(trial::TrialNumber number) const;
  /// Returns the trials of the same architecture (`search.repeats`) that count, in the order of their
  /// commits. A repeat that ended after its architecture had been beaten does not. @pre it is the number of
  /// the first one
  std::vector<SharedTrial> search_repeats(trial::TrialNumber number) const;
  /// Returns the first of them with the means of their measurements (search::mean_of).
  SharedTrial search_mean(trial::TrialNumber number) const;
  /// Returns the number of the first trial of its architecture: its own without `search.repeats`. @pre it is
  /// committed
  trial::TrialNumber first_repeat(const trial::Trial& trial) const { return front_.first_of(trial); }
  /// Returns `search.repeats`.
  std::uint32_t repeats() const { return front_.repeats(); }

  /// Returns the front of the search, by the means of repeats; its keys are numbers of search trials.
  const search::ParetoArchive& front() const { return front_.front(); }
  bool on_front(trial::TrialNumber number) const { return members_.contains(number); }
  /// Returns the full trainings of a search trial, with all budgets and repeats, the latest last.
  std::span<const SharedTrial> full_trainings(trial::TrialNumber number) const;
  /// Returns the search trials that the last commit pushed off the front for ever, and the committed trial if
  /// it will never be on the front.
  const std::vector<trial::TrialNumber>& left_behind() const { return left_behind_; }
  /// Returns the points of the front; the same object until the front changes.
  const std::shared_ptr<const FrontPoints>& points() const;
  /// Returns the hypervolume of the search's front, or nullopt if it is not defined (volume_of).
  std::optional<double> volume() const { return volume_of(objectives_, *points()); }

  /// Returns the budget of the latest full training, or nullopt if there is none. The trainings of the final
  /// front have this budget.
  const std::optional<trial::Budget>& final_budget() const { return final_budget_; }
  /// Returns the full trainings of a search trial with that budget, in the order of their commits: the
  /// repeats.
  std::vector<SharedTrial> final_repeats(trial::TrialNumber number) const;
  /// Returns the first repeat, whose weights are kept, or nullptr if there is none.
  SharedTrial final_training(trial::TrialNumber number) const;
  /// Returns the first repeat with the means of the repeats' measurements, or nullptr if there is none. A
  /// repeat that failed does not count; if all failed, it is the first one. One repeat is returned as it is.
  SharedTrial final_mean(trial::TrialNumber number) const;
  /// Returns the refit of a search trial that belongs to its trainings with the final budget, or nullptr.
  SharedTrial refit_of(trial::TrialNumber number) const;
  /// Returns the front among the full trainings with the final budget, by their means. Its keys are the
  /// numbers of the search trials that were trained.
  const search::ParetoArchive& final_front() const { return final_front_; }
  bool on_final_front(trial::TrialNumber number) const { return final_front_.contains(number); }
  std::optional<double> final_volume() const {
    return volume_of(final_objectives(), points_of(final_front_));
  }
  /// Returns the trials on neither front whose full training the last commit made superfluous.
  const std::vector<trial::TrialNumber>& left_final_front() const { return left_final_front_; }
  /// Returns whether a training is on the front of its phase: the search's front or the final one.
  bool on_its_front(const trial::Trial& trial) const;
  /// Returns the best value of each objective over the successful search trials, by the means of repeats, in
  /// the user's senses; empty if there are none.
  const std::vector<double>& best() const { return best_; }

  trial::Phase phase() const { return phase_; }
  /// Returns an upper bound of the trials of a phase, or 0 if it has not begun.
  std::size_t expected(trial::Phase phase) const { return expected_.at(index(phase)); }
  std::size_t committed(trial::Phase phase) const { return committed_.at(index(phase)); }
  /// Returns the number of commits since the phase began.
  std::size_t done_in_phase() const { return committed(phase_) - before_phase_; }
  std::size_t replayed() const { return replayed_; }
  std::size_t in_flight() const { return in_flight_; }  // trials asked for and not committed
  std::size_t waiting() const { return waiting_; }      // trials in flight that have a result
  /// Returns whether no trial is under way because the search is thinking about the next one.
  bool waits_for_choice() const { return chooses_ && in_flight_ == 0; }
  std::size_t failed() const { return failed_; }
  std::size_t pruned() const { return pruned_; }
  /// Returns the number of trials that were not trained because of a constraint; they have not failed.
  std::size_t outside() const { return outside_; }
  /// Returns what the search last said about itself (Searcher::progress_summary), or an empty text.
  const std::string& search_summary() const { return search_summary_; }
  const SlotUsage& account() const { return account_; }

 private:
  static std::size_t index(trial::Phase phase) { return static_cast<std::size_t>(phase); }
  void add_search_trial(const SharedTrial& trial);
  void add_full_training(const SharedTrial& trial);
  void compare_full_trainings();

  objective::ObjectiveSet objectives_;
  trial::CommitLog trials_;
  search::RepeatedFront front_{1, 1};
  std::unordered_set<trial::TrialNumber> members_;  // trials on the front
  // Repeats of each trial, by the number of the first one, which is not among them.
  std::map<trial::TrialNumber, std::vector<trial::CommitPosition>> repeats_;
  std::vector<trial::TrialNumber> left_behind_;
  std::vector<trial::TrialNumber> left_final_front_;
  std::map<trial::TrialNumber, std::vector<SharedTrial>> full_trainings_;
  std::optional<trial::Budget> final_budget_;
  std::map<trial::TrialNumber, SharedTrial> final_means_;
  search::ParetoArchive final_front_{1};
  std::vector<double> best_;
  mutable std::shared_ptr<const FrontPoints> points_;  // nullptr until it is needed
  trial::Phase phase_ = trial::Phase::kSearch;
  std::array<std::size_t, 2> expected_{};   // indexed by phase
  std::array<std::size_t, 2> committed_{};  // indexed by phase
  std::size_t before_phase_ = 0;            // trials of the phase that had been committed when it began
  std::size_t replayed_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t waiting_ = 0;
  bool chooses_ = false;
  std::size_t failed_ = 0;
  std::size_t pruned_ = 0;
  std::size_t outside_ = 0;
  std::string search_summary_;
  SlotUsage account_;
};

/// Is notified on rank 0 about the progress of a run. The main thread calls it, in the order of events; each
/// call must be quick.
class RunListener {
 public:
  virtual ~RunListener() = default;
  /// Called once, when the slots are known and no trial has been asked for.
  virtual void started(const RunState& /*state*/) {}
  /// Called when the search begins, or the full training of its front.
  virtual void phase_begun(const RunState& /*state*/) {}
  virtual void asked(const trial::Trial& /*trial*/) {}
  /// Called once per commit, replayed or new; `state` already contains it.
  virtual void committed(const Commit& /*commit*/, const RunState& /*state*/) {}
  /// Called within a second, once per result, if the result of a trial cannot be committed before the search
  /// has answered, which may take long.
  virtual void waits(const trial::CommittedTrial& /*result*/) {}
  /// Called when no trial will continue this committed trial any more, so that its last state can be deleted.
  /// Only trials with may_be_continued() are released.
  virtual void released(const trial::Trial& /*trial*/) {}
  virtual void lost(const store::RankLoss& /*loss*/) {}
  /// Called when an attempt at this trial is abandoned and the trial is trained again.
  virtual void again(trial::TrialName /*trial*/) {}
  /// Called when the trial has failed, and another try follows.
  virtual void failed(trial::TrialName /*trial*/, const store::FailedTry& /*failed*/) {}
  /// Called at most once, when the run is asked to stop and running trials save their state.
  virtual void stopping() {}
  /// Called about ten times per second.
  virtual void tick(const RunState& /*state*/) {}
};

}  // namespace skyline::run

#pragma once

#include "skyline/trial/evaluator.hpp"

#include "core/backoff.hpp"
#include "engine/slots/checkpoints.hpp"
#include "engine/slots/trial_deadline.hpp"
#include "engine/slots/trial_folders.hpp"
#include "store/run_folder/running_trials.hpp"
#include "trial/course_text.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Notes that a slot trains a trial, until it ends.
class NotedTrial {
 public:
  /// @param running   must outlive the object; nullptr if running trials are not noted
  /// @param describe  describes the trial for people; may be empty
  NotedTrial(store::RunningTrials* running, std::size_t slot, const trial::Trial& trial,
             const std::function<std::string(const trial::Trial& trial)>& describe)
      : running_(running), slot_(slot) {
    if (running_ != nullptr) running_->begins(slot, trial.name(), describe ? describe(trial) : "");
  }
  ~NotedTrial() { end(); }
  NotedTrial(const NotedTrial&) = delete;
  NotedTrial& operator=(const NotedTrial&) = delete;

  void reports(const trial::CurvePoint& point) const {
    if (running_ != nullptr) running_->reports(slot_, trial::to_text(point));
  }
  /// Must be called before the result is handed in: rank 0 may then start a trial that must run alone.
  void end() {
    if (running_ != nullptr) std::exchange(running_, nullptr)->ends(slot_);
  }

 private:
  store::RunningTrials* running_;
  std::size_t slot_;
};

/// Adds the values that only an earlier point has.
inline void add_earlier(trial::CurvePoint& point, trial::CurvePoint earlier) {
  for (trial::NamedNumber& value : earlier.values) {
    const bool is_there = std::ranges::count(point.values, value.name, &trial::NamedNumber::name) > 0;
    if (!is_there) point.values.push_back(std::move(value));
  }
}

/// Joins each two points of a curve into one: the later one, with the values that only the earlier one has.
inline std::vector<trial::CurvePoint> halved(std::vector<trial::CurvePoint> points) {
  std::vector<trial::CurvePoint> half;
  for (std::size_t i = 1; i < points.size(); i += 2) {
    add_earlier(half.emplace_back(std::move(points[i])), std::move(points[i - 1]));
  }
  return half;
}

/// The slot as an evaluator sees it while it trains a trial. It counts how long the trial has to wait.
class SlotContext final : public trial::EvaluationContext, trial::TrialState, trial::TrialWeights {
 public:
  using Tensors = std::vector<trial::NamedTensor>;

  /// @param checkpoints   checkpoints of the slot for this trial; nullptr if there are none
  /// @param last_failure  see EvaluationContext::last_failure
  SlotContext(trial::Place place, const std::atomic<bool>& stop, SlotCheckpoints* checkpoints,
              bool wants_weights, TrialDeadline& deadline, std::string last_failure)
      : place_(std::move(place)),
        control_(deadline, &stop),
        checkpoints_(checkpoints),
        wants_weights_(wants_weights),
        last_failure_(std::move(last_failure)) {}

  trial::TrialControl& control() override { return control_; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return *this; }
  const trial::TrialFolder* folder() override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    if (!folder_ && begin_folder_) folder_ = begin_folder_();
    return folder_ ? &folder_->shown : nullptr;
  }
  trial::EarlyValues& early_values() override {
    return early_values_ != nullptr ? *early_values_ : EvaluationContext::early_values();
  }
  trial::TrialPruning* pruning() override { return pruning_; }
  trial::TrialGroup* group() override { return group_ ? &*group_ : nullptr; }
  trial::Place place() const override { return place_; }
  std::string last_failure() const override { return last_failure_; }
  trial::TrialTiming& timing() override { return timing_; }

  /// The weights are read when the evaluator asks, because a resumed trial needs none.
  void inherit(std::function<std::shared_ptr<const Tensors>()> inherited) {
    inherited_ = std::move(inherited);
  }
  /// The folder is made when the evaluator asks. @param begin  returns nullopt if the trial was asked to stop
  void make_folder(std::function<std::optional<TrialFolders::Begun>()> begin) {
    begin_folder_ = std::move(begin);
  }
  /// Returns the folder that was made, or nullopt.
  const std::optional<TrialFolders::Begun>& made_folder() const { return folder_; }
  /// Keeps early values in the run. @param values  must outlive the context
  void know(trial::EarlyValues& values) { early_values_ = &values; }
  /// Compares the trial with others. @param pruning  must outlive the context
  void compare_by(trial::TrialPruning& pruning) { pruning_ = &pruning; }
  /// Makes this the context of member 0.
  void lead(trial::TrialGroup& group) { group_.emplace(group, *this); }
  Tensors take_weights() { return std::move(kept_); }
  std::string take_answers() { return std::move(answers_); }
  /// Has each point shown to people, too. @param show  called by report(), not more than once a second
  void show_points(std::function<void(const trial::CurvePoint&)> show) { show_ = std::move(show); }
  /// A point of the last one's step adds to that one: a program may report its metrics one by one.
  void report(trial::CurvePoint point) override {
    if (show_ && (!shown_at_ || seconds_since(*shown_at_) >= 1)) {
      show_(point);
      shown_at_ = std::chrono::steady_clock::now();
    }
    if (!course_.empty() && course_.back().step == point.step) {
      add_earlier(point, std::move(course_.back()));
      course_.pop_back();
    }
    course_.push_back(std::move(point));
    if (course_.size() == kMostPoints) course_ = halved(std::move(course_));
  }
  std::vector<trial::CurvePoint> take_course() { return std::move(course_); }

 private:
  static constexpr std::size_t kMostPoints = 200;
  using Fill = std::function<void(trial::TrainingState&)>;

  const trial::TrainingState* saved() const override {
    return checkpoints_ == nullptr ? nullptr : checkpoints_->saved();
  }
  bool due(double epochs_done) override { return checkpoints_ != nullptr && checkpoints_->due(epochs_done); }
  void save(const Fill& fill) override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    if (checkpoints_ != nullptr) checkpoints_->save(fill);
  }
  void save_last(const Fill& fill) override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    if (checkpoints_ != nullptr) checkpoints_->save_last(fill);
  }
  std::shared_ptr<const Tensors> inherited() override {
    const trial::TrialWait wait(*this, &trial::TrialTiming::wait_files_s);
    return inherited_ ? inherited_() : nullptr;
  }
  bool wanted() const override { return wants_weights_; }
  void keep(Tensors weights) override {
    if (wants_weights_) kept_ = std::move(weights);
  }
  void keep_answers(std::string json) override {
    if (wants_weights_) answers_ = std::move(json);
  }

  const trial::Place place_;
  MemberControl control_;
  SlotCheckpoints* checkpoints_;
  bool wants_weights_;
  trial::EarlyValues* early_values_ = nullptr;
  trial::TrialPruning* pruning_ = nullptr;
  const std::string last_failure_;
  std::function<std::shared_ptr<const Tensors>()> inherited_;
  std::function<std::optional<TrialFolders::Begun>()> begin_folder_;
  std::optional<TrialFolders::Begun> folder_;
  Tensors kept_;
  std::string answers_;
  std::vector<trial::CurvePoint> course_;
  std::function<void(const trial::CurvePoint&)> show_;
  std::optional<std::chrono::steady_clock::time_point> shown_at_;
  std::optional<TimedGroup> group_;
  trial::TrialTiming timing_;
};

}  // namespace skyline::engine

#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/run_folder/running_trials.hpp"
#include "trial/course_text.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

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

}  // namespace skyline::engine

#pragma once

#include "skyline/trial/trial.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

namespace skyline::search {

/// Counts the trials of a search that were not trained, because what was asked before breaks a constraint.
/// They have no place among the trials that the search may have, up to a limit.
class OutsideTrials {
 public:
  /// @param trials  how many trials the search may have; the largest number if there is no limit
  explicit OutsideTrials(std::size_t trials) : trials_(trials) {}

  void tell(const trial::CommittedTrial& committed) {
    count_ += trial::is_outside(committed.outcome) ? 1U : 0U;
  }
  /// Returns how many trials the search may propose.
  std::size_t places() const {
    if (trials_ >= std::numeric_limits<std::size_t>::max() / (kMost + 1)) return trials_;
    return trials_ + std::min(count_, kMost * trials_);
  }
  /// Returns whether so many were outside that the search ends before it has its trials.
  bool too_many() const { return count_ > 0 && (count_ - 1) / kMost >= trials_; }
  /// Returns how a search ended that has all of its trials.
  std::string finish_reason() const {
    if (too_many()) {
      return counted(count_, "trial") + " broke a constraint on what is asked before a training";
    }
    const std::string done = counted(trials_, "trial") + " done";
    return count_ == 0 ? done : done + ", beside " + std::to_string(count_) + " outside of constraints";
  }

 private:
  static constexpr std::size_t kMost = 3;  // limit, as a multiple of the trials that the search may have

  std::size_t trials_;
  std::size_t count_ = 0;
};

}  // namespace skyline::search

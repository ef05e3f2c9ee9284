#pragma once

#include "skyline/trial/evaluator.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace skyline::train {

/// Which epoch of a full training was the best one so far, and how long ago that is. Higher accuracy wins,
/// then lower loss.
class EpochChoice {
 public:
  using Number = trial::TrainingState::Number;

  /// Takes the validation scores after `step`. Returns whether they are the best so far.
  bool judge(std::int64_t step, double accuracy, double loss) {
    judged_step_ = step;
    const bool better = accuracy > accuracy_ || (accuracy == accuracy_ && loss < loss_);
    epochs_waited_ = better ? 0 : epochs_waited_ + 1;
    if (better) {
      accuracy_ = accuracy;
      loss_ = loss;
    }
    return better;
  }
  std::int64_t judged_step() const { return judged_step_; }
  /// Epochs since the best one.
  std::int64_t epochs_waited() const { return epochs_waited_; }

  /// Appends the state, as many numbers as kNumbers.
  void save(std::vector<Number>& numbers) const {
    for (const double value :
         {static_cast<double>(judged_step_), static_cast<double>(epochs_waited_), accuracy_, loss_}) {
      numbers.push_back({kName, value});
    }
  }
  /// Returns false, and changes nothing, if the numbers are something else. @pre kNumbers of them
  bool load(std::span<const Number> numbers) {
    for (const Number& number : numbers) {
      if (number.name != kName) return false;
    }
    judged_step_ = static_cast<std::int64_t>(numbers[0].value);
    epochs_waited_ = static_cast<std::int64_t>(numbers[1].value);
    accuracy_ = numbers[2].value;
    loss_ = numbers[3].value;
    return true;
  }
  static constexpr std::size_t kNumbers = 4;

 private:
  static constexpr const char* kName = "epoch_choice";

  std::int64_t judged_step_ = 0;
  std::int64_t epochs_waited_ = 0;
  double accuracy_ = -1;
  double loss_ = std::numeric_limits<double>::infinity();
};

}  // namespace skyline::train

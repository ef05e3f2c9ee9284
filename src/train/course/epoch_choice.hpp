#pragma once

#include "skyline/trial/evaluator.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace skyline::train {

/// On held-out data.
struct Score {
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// Which epoch of a full training was the best one so far, and how long ago that is. Higher accuracy wins,
/// then lower loss.
class EpochChoice {
 public:
  using Number = trial::TrainingState::Number;

  /// Takes the validation score after `step`. Returns whether it is the best so far.
  bool judge(std::int64_t step, const Score& score) {
    judged_step_ = step;
    last_ = score;
    const bool better =
        score.accuracy > best_.accuracy || (score.accuracy == best_.accuracy && score.loss < best_.loss);
    epochs_waited_ = better ? 0 : epochs_waited_ + 1;
    if (better) best_ = score;
    return better;
  }
  const Score& last() const { return last_; }
  const Score& best() const { return best_; }
  std::int64_t judged_step() const { return judged_step_; }
  /// Epochs since the best one.
  std::int64_t epochs_waited() const { return epochs_waited_; }

  /// Appends the state, as many numbers as kNumbers.
  void save(std::vector<Number>& numbers) const {
    for (const double value : {static_cast<double>(judged_step_), static_cast<double>(epochs_waited_),
                               last_.accuracy, last_.loss, best_.accuracy, best_.loss}) {
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
    last_ = {numbers[2].value, numbers[3].value};
    best_ = {numbers[4].value, numbers[5].value};
    return true;
  }
  static constexpr std::size_t kNumbers = 6;

 private:
  static constexpr const char* kName = "epoch_choice";

  std::int64_t judged_step_ = 0;
  std::int64_t epochs_waited_ = 0;
  Score last_;
  Score best_{-1, std::numeric_limits<double>::infinity()};
};

}  // namespace skyline::train

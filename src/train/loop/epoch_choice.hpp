#pragma once

#include "skyline/trial/evaluator.hpp"

#include "train/scoring/metrics.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// Keeps which epoch of a full training was the best so far, and how long ago. The better first metric wins,
/// then the lower loss.
class EpochChoice {
 public:
  using Number = trial::TrainingState::Number;

  /// @param metrics  number of metrics in a score, at least one
  EpochChoice(std::size_t metrics, MetricKind::Better better) : metrics_(metrics), better_(better) {}

  /// Takes the validation score after `step`. Returns whether it is the best so far.
  bool judge(std::int64_t step, const Score& score) {
    judged_step_ = step;
    last_ = score;
    const bool better = best_.metrics.empty() || is_better(score);
    epochs_waited_ = better ? 0 : epochs_waited_ + 1;
    if (better) best_ = score;
    return better;
  }
  const Score& last() const { return last_; }
  const Score& best() const { return best_; }
  std::int64_t judged_step() const { return judged_step_; }
  /// Returns the number of epochs since the best one.
  std::int64_t epochs_waited() const { return epochs_waited_; }

  /// Appends the state as numbers() numbers.
  void save(std::vector<Number>& numbers) const {
    numbers.push_back({kName, static_cast<double>(judged_step_)});
    numbers.push_back({kName, static_cast<double>(epochs_waited_)});
    for (const Score* score : {&last_, &best_}) {
      numbers.push_back({kName, score->loss});
      for (std::size_t i = 0; i < metrics_; ++i) {
        numbers.push_back({kName, score->metrics.empty() ? 0 : score->metrics[i]});
      }
    }
  }
  /// Restores the state that save() appended. Returns false and changes nothing if one of the numbers has
  /// another name. @pre there are numbers() of them
  bool load(std::span<const Number> numbers) {
    for (const Number& number : numbers) {
      if (number.name != kName) return false;
    }
    judged_step_ = static_cast<std::int64_t>(numbers[0].value);
    epochs_waited_ = static_cast<std::int64_t>(numbers[1].value);
    for (Score* score : {&last_, &best_}) {
      const auto own = numbers.subspan(score == &last_ ? 2 : 3 + metrics_);
      *score = {.loss = own[0].value};
      for (std::size_t i = 0; judged_step_ > 0 && i < metrics_; ++i) {
        score->metrics.push_back(own[1 + i].value);
      }
    }
    return true;
  }
  std::size_t numbers() const { return 2 * (2 + metrics_); }

 private:
  static constexpr const char* kName = "epoch_choice";

  static bool is_finite(const Score& score) {
    return std::isfinite(score.metrics[0]) && std::isfinite(score.loss);
  }
  bool is_better(const Score& score) const {
    if (is_finite(score) != is_finite(best_)) return is_finite(score);
    const double gain = score.metrics[0] - best_.metrics[0];
    if (gain == 0) return score.loss < best_.loss;
    return better_ == MetricKind::Better::kHigher ? gain > 0 : gain < 0;
  }

  std::size_t metrics_;
  MetricKind::Better better_;
  std::int64_t judged_step_ = 0;
  std::int64_t epochs_waited_ = 0;
  Score last_;
  Score best_;
};

}  // namespace skyline::train

#pragma once

#include "skyline/trial/evaluator.hpp"

#include "train/scoring/metrics.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// The batches of an epoch, all of one size but the last one.
struct EpochBatches {
  std::int64_t count = 1;
  double last_share = 1;  // size of the last batch, as a share of the others'; 1 if it is the only one
};

/// The learning curve of a trial, as at most 100 points of equally many steps. When all points are used, each
/// two are merged into one. So the points depend on the steps alone, and not on the budget.
class LearningCurve {
 public:
  static constexpr std::size_t kMostPoints = 100;
  using Number = trial::TrainingState::Number;
  struct Point {
    std::int64_t step = 0;     // last step that the point covers
    double train_loss = 0;     // mean over the samples of the steps since the previous point
    double learning_rate = 0;  // learning rate of the last step
    Score validation = {};     // score since the previous point; NaN if not measured
  };

  /// @param metrics  number of metrics in a score
  explicit LearningCurve(std::size_t metrics, EpochBatches batches = {})
      : metrics_(metrics), batches_(batches) {}

  /// Takes the next step.
  /// @param step  number of the step, from 1
  void add(std::int64_t step, double loss, double learning_rate);
  /// Takes the validation score after the last step.
  void add_score(const Score& score);
  /// Returns all points. One of less than half of the samples of the others joins the one before, so the last
  /// point may cover more steps, or fewer.
  std::vector<Point> points() const;

  /// Appends the curve so far to `numbers`, and restores it. load() returns false and changes nothing if the
  /// numbers are not a curve.
  void save(std::vector<Number>& numbers) const;
  bool load(std::span<const Number> numbers);

 private:
  Point open_point() const;
  void halve();
  double weight(std::int64_t from, std::int64_t to) const;
  void write_point(const Point& point, std::vector<Number>& numbers) const;
  Point read_point(std::span<const Number> numbers) const;

  std::size_t metrics_;
  EpochBatches batches_;
  std::vector<Point> points_;
  Point open_;  // its loss is the weighted sum so far
  std::int64_t open_steps_ = 0;
  std::int64_t interval_ = 1;  // number of steps of a point
};

}  // namespace skyline::train

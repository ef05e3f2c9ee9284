#pragma once

#include "skyline/trial/evaluator.hpp"

#include "train/scoring/metrics.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// The course of a trial in at most 100 points of equally many steps. When all are used, each two become one:
/// so the points depend on the steps alone, and not on the budget.
class TrialCourse {
 public:
  static constexpr std::size_t kMostPoints = 100;
  using Number = trial::TrainingState::Number;
  struct Point {
    std::int64_t step = 0;     // the last one that it stands for
    double train_loss = 0;     // mean over the steps since the point before
    double learning_rate = 0;  // of the last step
    Score validation = {};     // since the point before; NaN: not measured
  };

  /// @param metrics  of a score
  explicit TrialCourse(std::size_t metrics) : metrics_(metrics) {}

  /// Takes the next step. @param step  from 1
  void add(std::int64_t step, double loss, double learning_rate);
  /// The validation score after the last step.
  void add_score(const Score& score);
  /// All points; the last one may stand for fewer steps.
  std::vector<Point> points() const;

  /// Appends the course so far, and takes it back. Returns false, and changes nothing, if the numbers are no
  /// course.
  void save(std::vector<Number>& numbers) const;
  bool load(std::span<const Number> numbers);

 private:
  void halve();
  void write_point(const Point& point, std::vector<Number>& numbers) const;
  Point read_point(std::span<const Number> numbers) const;

  std::size_t metrics_;

  std::vector<Point> points_;
  Point open_;  // its loss is the sum so far
  std::int64_t open_steps_ = 0;
  std::int64_t interval_ = 1;  // steps of a point
};

}  // namespace skyline::train

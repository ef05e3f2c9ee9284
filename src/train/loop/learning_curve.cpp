#include "train/loop/learning_curve.hpp"

#include <cmath>

namespace skyline::train {
namespace {

constexpr const char* kCourse = "course";
constexpr std::size_t kNumbersOfPoint = 4;  // numbers of a point before its metrics
constexpr std::size_t kInterval = 2;        // numbers before the points: interval, steps of the open point

}  // namespace

/// Writes a point, with NaN for metrics that were not measured.
void LearningCurve::write_point(const Point& point, std::vector<Number>& numbers) const {
  std::vector<double> metrics = point.validation.metrics;
  metrics.resize(metrics_, std::nan(""));
  for (const double value :
       {static_cast<double>(point.step), point.train_loss, point.learning_rate, point.validation.loss}) {
    numbers.push_back({kCourse, value});
  }
  for (const double value : metrics) numbers.push_back({kCourse, value});
}

LearningCurve::Point LearningCurve::read_point(std::span<const Number> numbers) const {
  Point point{static_cast<std::int64_t>(numbers[0].value),
              numbers[1].value,
              numbers[2].value,
              {.loss = numbers[3].value}};
  if (std::isnan(point.validation.loss)) return point;
  for (std::size_t i = 0; i < metrics_; ++i) {
    point.validation.metrics.push_back(numbers[kNumbersOfPoint + i].value);
  }
  return point;
}

void LearningCurve::add(std::int64_t step, double loss, double learning_rate) {
  open_.step = step;
  open_.learning_rate = learning_rate;
  open_.train_loss += loss * weight(step - 1, step);
  if (++open_steps_ < interval_) return;
  points_.push_back(open_point());
  open_ = {};
  open_steps_ = 0;
  if (points_.size() == kMostPoints) halve();
}

void LearningCurve::add_score(const Score& score) {
  (open_steps_ == 0 && !points_.empty() ? points_.back() : open_).validation = score;
}

/// Returns the steps since the last point as one.
LearningCurve::Point LearningCurve::open_point() const {
  Point point = open_;
  point.train_loss /= weight(points_.empty() ? 0 : points_.back().step, open_.step);
  return point;
}

/// A point of few samples, such as those of a last batch, would be one of chance: it joins the one before.
std::vector<LearningCurve::Point> LearningCurve::points() const {
  std::vector<Point> all = points_;
  if (open_steps_ > 0) all.push_back(open_point());
  std::vector<Point> points;
  double before = 0;  // samples of the last one of `points`
  std::int64_t begin = 0;
  for (const Point& point : all) {
    const double samples = weight(begin, point.step);
    begin = point.step;
    if (points.empty() || samples >= static_cast<double>(interval_) / 2) {
      points.push_back(point);
      before = samples;
      continue;
    }
    Point& joined = points.back();
    joined.train_loss = (before * joined.train_loss + samples * point.train_loss) / (before + samples);
    before += samples;
    joined.step = point.step;
    joined.learning_rate = point.learning_rate;
    if (!std::isnan(point.validation.loss)) joined.validation = point.validation;
  }
  return points;
}

/// Returns the samples of the steps after `from` until `to`, as a multiple of those of a full batch.
double LearningCurve::weight(std::int64_t from, std::int64_t to) const {
  const std::int64_t last_ones = to / batches_.count - from / batches_.count;
  return static_cast<double>(to - from - last_ones) + batches_.last_share * static_cast<double>(last_ones);
}

void LearningCurve::halve() {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
    const Point& first = points_[2 * i];
    Point both = points_[2 * i + 1];
    const double left = weight(begin, first.step);
    const double right = weight(first.step, both.step);
    begin = both.step;
    both.train_loss = (left * first.train_loss + right * both.train_loss) / (left + right);
    if (std::isnan(both.validation.loss)) both.validation = first.validation;
    points_[i] = both;
  }
  points_.resize(kMostPoints / 2);
  interval_ *= 2;
}

void LearningCurve::save(std::vector<Number>& numbers) const {
  numbers.push_back({kCourse, static_cast<double>(interval_)});
  numbers.push_back({kCourse, static_cast<double>(open_steps_)});
  write_point(open_, numbers);
  for (const Point& point : points_) write_point(point, numbers);
}

bool LearningCurve::load(std::span<const Number> numbers) {
  const std::size_t of_point = kNumbersOfPoint + metrics_;
  if (numbers.size() < kInterval + of_point || (numbers.size() - kInterval) % of_point != 0) return false;
  for (const Number& number : numbers) {
    if (number.name != kCourse) return false;
  }
  interval_ = static_cast<std::int64_t>(numbers[0].value);
  open_steps_ = static_cast<std::int64_t>(numbers[1].value);
  open_ = read_point(numbers.subspan(kInterval));
  points_.clear();
  for (std::size_t i = kInterval + of_point; i < numbers.size(); i += of_point) {
    points_.push_back(read_point(numbers.subspan(i)));
  }
  return true;
}

}  // namespace skyline::train

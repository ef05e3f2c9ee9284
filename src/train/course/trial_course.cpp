#include "train/course/trial_course.hpp"

#include <cmath>

namespace skyline::train {
namespace {

constexpr const char* kCourse = "course";
constexpr std::size_t kNumbersOfPoint = 5;
constexpr std::size_t kNumbersOfRest = 2 + kNumbersOfPoint;  // interval, steps of the open point, open point

void write_point(const trial::CoursePoint& point, std::vector<TrialCourse::Number>& numbers) {
  for (const double value : {static_cast<double>(point.step), point.train_loss, point.learning_rate,
                             point.validation_loss, point.validation_accuracy}) {
    numbers.push_back({kCourse, value});
  }
}

trial::CoursePoint read_point(std::span<const TrialCourse::Number> numbers) {
  return {static_cast<std::int64_t>(numbers[0].value), numbers[1].value, numbers[2].value, numbers[3].value,
          numbers[4].value};
}

}  // namespace

void TrialCourse::add(std::int64_t step, double loss, double learning_rate) {
  open_.step = step;
  open_.learning_rate = learning_rate;
  open_.train_loss += loss;
  if (++open_steps_ < interval_) return;
  points_ = points();
  open_ = {};
  open_steps_ = 0;
  if (points_.size() == kMostPoints) halve();
}

void TrialCourse::add_scores(double loss, double accuracy) {
  trial::CoursePoint& last = open_steps_ == 0 && !points_.empty() ? points_.back() : open_;
  last.validation_loss = loss;
  last.validation_accuracy = accuracy;
}

std::vector<trial::CoursePoint> TrialCourse::points() const {
  std::vector<trial::CoursePoint> all = points_;
  if (open_steps_ > 0) {
    all.push_back(open_);
    all.back().train_loss /= static_cast<double>(open_steps_);
  }
  return all;
}

void TrialCourse::halve() {
  for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
    const trial::CoursePoint& first = points_[2 * i];
    trial::CoursePoint both = points_[2 * i + 1];
    both.train_loss = (first.train_loss + both.train_loss) / 2;
    if (std::isnan(both.validation_loss)) {
      both.validation_loss = first.validation_loss;
      both.validation_accuracy = first.validation_accuracy;
    }
    points_[i] = both;
  }
  points_.resize(kMostPoints / 2);
  interval_ *= 2;
}

void TrialCourse::save(std::vector<Number>& numbers) const {
  numbers.push_back({kCourse, static_cast<double>(interval_)});
  numbers.push_back({kCourse, static_cast<double>(open_steps_)});
  write_point(open_, numbers);
  for (const trial::CoursePoint& point : points_) write_point(point, numbers);
}

bool TrialCourse::load(std::span<const Number> numbers) {
  if (numbers.size() < kNumbersOfRest || (numbers.size() - kNumbersOfRest) % kNumbersOfPoint != 0) {
    return false;
  }
  for (const Number& number : numbers) {
    if (number.name != kCourse) return false;
  }
  interval_ = static_cast<std::int64_t>(numbers[0].value);
  open_steps_ = static_cast<std::int64_t>(numbers[1].value);
  open_ = read_point(numbers.subspan(2));
  points_.clear();
  for (std::size_t i = kNumbersOfRest; i < numbers.size(); i += kNumbersOfPoint) {
    points_.push_back(read_point(numbers.subspan(i)));
  }
  return true;
}

}  // namespace skyline::train

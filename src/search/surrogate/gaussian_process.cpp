#include "search/surrogate/gaussian_process.hpp"

#include "skyline/core/error.hpp"

#include "core/system/parts.hpp"
#include "search/surrogate/hyper_choice.hpp"
#include "search/surrogate/lane_sums.hpp"
#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyline::search {

namespace {

constexpr Eigen::Index kOftenChosen = 60;  // up to this number of targets hyper-parameters are chosen by all
constexpr Eigen::Index kMostToChoose = 200;  // points by which hyper-parameters are chosen
constexpr Eigen::Index kRowsTogether = 32;
constexpr double kLeastVariance = 1e-9;
constexpr double kLeastProducts = 1e6;  // a thread with fewer costs more than it saves
constexpr std::size_t kColumnsOfAPart = 8;
constexpr Eigen::Index kCostOfAKernel = 30;  // products that take as long as a value of the kernel

/// Columns of whole lanes, zero at first.
class LaneColumns {
 public:
  LaneColumns(Eigen::Index rows, Eigen::Index columns)
      : values_(Eigen::MatrixXd::Zero(whole_lanes(rows), columns)) {
    for (Eigen::Index column = 0; column < columns; ++column) begins_.push_back(values_.col(column).data());
  }
  std::span<double* const> begins() const { return begins_; }

 private:
  Eigen::MatrixXd values_;
  std::vector<double*> begins_;
};

std::vector<const double*> column_begins(const Eigen::MatrixXd& matrix) {
  std::vector<const double*> begins;
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) begins.push_back(matrix.col(column).data());
  return begins;
}

}  // namespace

GaussianProcess::GaussianProcess(const PointSpace& space) : kernel_(space) {
  if (kernel_.has_lengths()) hyper_.lengths.assign(space.ordinal.size(), 1.0);
  add({Eigen::MatrixXd(kernel_.parameters(), 0), Eigen::MatrixXd(kernel_.features(), 0)});
}

void GaussianProcess::add(const Points& points) {
  const Eigen::MatrixXd added = kernel_.encode(points);
  points_.conservativeResize(added.rows(), size() + added.cols());
  points_.rightCols(added.cols()) = added;
  counts_.conservativeResize(size());
  counts_.tail(added.cols()) = points.counts.size() > 0 ? points.counts : Eigen::VectorXd::Ones(added.cols());
}

void GaussianProcess::truncate(Eigen::Index size) {
  points_.conservativeResize(points_.rows(), std::min(size, this->size()));
  counts_.conservativeResize(this->size());
  factor_.truncate(size);
  stamps_.resize(static_cast<std::size_t>(factor_.size()));
}

Eigen::Index GaussianProcess::choice_size(Eigen::Index known) {
  if (known <= kOftenChosen) return known;
  Eigen::Index chosen = kOftenChosen;
  while (chosen + chosen / 10 <= known) chosen += chosen / 10;
  return chosen;
}

void GaussianProcess::choose_hyper(const Eigen::VectorXd& targets) {
  const Eigen::Index known = targets.size();
  require(known <= size(), "a model has fewer points than targets");
  const Eigen::Index count = std::min(known, kMostToChoose);
  Eigen::MatrixXd points(points_.rows(), count);
  Eigen::VectorXd chosen(count);
  Eigen::VectorXd counts(count);
  for (Eigen::Index place = 0; place < count; ++place) {
    points.col(place) = points_.col(place * known / count);
    chosen[place] = targets[place * known / count];
    counts[place] = counts_[place * known / count];
  }
  set_hyper(best_hyper(kernel_, points, chosen, counts, threads_));
}

void GaussianProcess::set_hyper(const Hyper& hyper) {
  if (hyper == hyper_) return;
  hyper_ = hyper;
  factor_.truncate(0);
  stamps_.clear();
}

void GaussianProcess::fit(const Eigen::VectorXd& targets) {
  require(targets.size() <= size(), "a model has fewer points than targets");
  extend_factor();
  const Eigen::Index known = targets.size();
  targets_ = targets;
  LaneColumns whitened(size(), 1);
  double* const begin = whitened.begins().front();
  std::copy_n(targets.data(), known, begin);
  factor_.solve(whitened.begins(), 0);
  whitened_.assign(begin, begin + known);
  whitened_.resize(static_cast<std::size_t>(whole_lanes(size())), 0.0);
  variance_ = (dot(whitened_.data(), whitened_.data(), known) + 1) / static_cast<double>(known + 1);
}

void GaussianProcess::extend() {
  extend_factor();
  whitened_.resize(static_cast<std::size_t>(whole_lanes(size())), 0.0);
}

std::size_t GaussianProcess::threads_for(double products) const {
  return std::min(threads_, static_cast<std::size_t>(products / kLeastProducts) + 1);
}

void GaussianProcess::extend_factor() {
  for (Eigen::Index begin = factor_.size(); begin < size(); begin = factor_.size()) {
    const Eigen::Index end = std::min(size(), begin + kRowsTogether);
    const LaneColumns rows(end, end - begin);
    const std::span columns = rows.begins();
    const auto work = static_cast<double>((end - begin) * begin * (begin / 2 + kCostOfAKernel));
    in_parts(columns.size(), kColumnsOfAPart, threads_for(work), [&](std::size_t first, std::size_t last) {
      for (std::size_t place = first; place < last; ++place) {
        const Eigen::Index row = begin + static_cast<Eigen::Index>(place);
        kernel_.values(hyper_, points_.col(row).data(), points_, 0, row, columns[place]);
        columns[place][row] = 1 + hyper_.noise / counts_[row] + kLeastNoise;
      }
      factor_.solve(columns.subspan(first, last - first), 0);
    });
    for (Eigen::Index row = begin; row < end; ++row) stamps_.push_back(next_stamp_++);
    factor_.append(columns, begin);
  }
}

void GaussianProcess::solve_for(std::span<const double* const> points, std::span<double* const> solved,
                                Eigen::Index from) const {
  const double rows = static_cast<double>(size() - from);
  const double work = rows * (static_cast<double>(size() + from) / 2 + kCostOfAKernel);
  in_parts(points.size(), kColumnsOfAPart, threads_for(work * static_cast<double>(points.size())),
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t point = begin; point < end; ++point)
               kernel_.values(hyper_, points[point], points_, from, size(), solved[point]);
             factor_.solve(solved.subspan(begin, end - begin), from);
           });
}

Prediction GaussianProcess::predict_from(std::span<const double* const> solved) const {
  const auto count = std::ssize(solved);
  Prediction prediction{Eigen::VectorXd(count), Eigen::VectorXd(count)};
  const auto work = static_cast<double>(2 * size() * count);
  in_parts(solved.size(), kColumnsOfAPart, threads_for(work), [&](std::size_t begin, std::size_t end) {
    const std::span columns = solved.subspan(begin, end - begin);
    dots(whitened_.data(), columns, static_cast<std::size_t>(targets_.size()),
         prediction.mean.data() + begin);
    squares(columns, static_cast<std::size_t>(size()), prediction.deviation.data() + begin);
  });
  const Eigen::ArrayXd left = variance_ * (1 - prediction.deviation.array());
  prediction.deviation = left.max(kLeastVariance).sqrt().matrix();
  return prediction;
}

Prediction GaussianProcess::predict(const Points& candidates) const {
  require(factor_.size() == size(), "a model is asked before it is fitted");
  const Eigen::MatrixXd points = kernel_.encode(candidates);
  const LaneColumns solved(size(), points.cols());
  solve_for(column_begins(points), solved.begins(), 0);
  const std::vector<const double*> columns(solved.begins().begin(), solved.begins().end());
  return predict_from(columns);
}

Eigen::VectorXd GaussianProcess::means() const {
  const Eigen::Index known = targets_.size();
  Eigen::VectorXd means(size());
  const Eigen::Map<const Eigen::VectorXd> whitened(whitened_.data(), known);
  const Eigen::ArrayXd noise = hyper_.noise / counts_.head(known).array() + kLeastNoise;
  means.head(known) = targets_.array() - noise * factor_.solve_transposed(whitened).array();
  for (Eigen::Index point = known; point < size(); ++point) means[point] = mean_of(point);
  return means;
}

double GaussianProcess::mean_of(Eigen::Index point) const {
  return dot(whitened_.data(), factor_.row(point), targets_.size());
}

double GaussianProcess::log_likelihood() const {
  const Eigen::Index known = targets_.size();
  const double squares = dot(whitened_.data(), whitened_.data(), known);
  return -0.5 *
             (squares / variance_ + static_cast<double>(known) * std::log(2 * std::numbers::pi * variance_)) -
         factor_.log_diagonal(known);
}

}  // namespace skyline::search

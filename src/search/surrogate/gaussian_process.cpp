#include "search/surrogate/gaussian_process.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/hyper_choice.hpp"
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
  set_hyper(best_hyper(kernel_, points, chosen, counts));
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

void GaussianProcess::extend_factor() {
  for (Eigen::Index begin = factor_.size(); begin < size(); begin = factor_.size()) {
    const Eigen::Index end = std::min(size(), begin + kRowsTogether);
    const LaneColumns rows(end, end - begin);
    for (Eigen::Index row = begin; row < end; ++row) {
      double* const values = rows.begins()[static_cast<std::size_t>(row - begin)];
      kernel_.values(hyper_, points_.col(row).data(), points_, 0, row, values);
      values[row] = 1 + hyper_.noise / counts_[row] + kLeastNoise;
      stamps_.push_back(next_stamp_++);
    }
    factor_.append(rows.begins());
  }
}

void GaussianProcess::solve_for(std::span<const double* const> points, std::span<double* const> solved,
                                Eigen::Index from) const {
  for (std::size_t point = 0; point < points.size(); ++point) {
    kernel_.values(hyper_, points[point], points_, from, size(), solved[point]);
  }
  factor_.solve(solved, from);
}

Prediction GaussianProcess::predict_from(std::span<double* const> solved) const {
  const auto count = std::ssize(solved);
  Prediction prediction{Eigen::VectorXd(count), Eigen::VectorXd(count)};
  for (Eigen::Index point = 0; point < count; ++point) {
    const double* const column = solved[static_cast<std::size_t>(point)];
    prediction.mean[point] = dot(whitened_.data(), column, targets_.size());
    const double left = variance_ * (1 - dot(column, column, size()));
    prediction.deviation[point] = std::sqrt(std::max(left, kLeastVariance));
  }
  return prediction;
}

Prediction GaussianProcess::predict(const Points& candidates) const {
  require(factor_.size() == size(), "a model is asked before it is fitted");
  const Eigen::MatrixXd points = kernel_.encode(candidates);
  const LaneColumns solved(size(), points.cols());
  solve_for(column_begins(points), solved.begins(), 0);
  return predict_from(solved.begins());
}

Eigen::VectorXd GaussianProcess::means() const {
  const Eigen::Index known = targets_.size();
  Eigen::VectorXd means(size());
  const Eigen::Map<const Eigen::VectorXd> whitened(whitened_.data(), known);
  const Eigen::ArrayXd noise = hyper_.noise / counts_.head(known).array() + kLeastNoise;
  means.head(known) = targets_.array() - noise * factor_.solve_transposed(whitened).array();
  for (Eigen::Index point = known; point < size(); ++point) {
    means[point] = dot(whitened_.data(), factor_.row(point), known);
  }
  return means;
}

double GaussianProcess::log_likelihood() const {
  const Eigen::Index known = targets_.size();
  const double squares = dot(whitened_.data(), whitened_.data(), known);
  return -0.5 *
             (squares / variance_ + static_cast<double>(known) * std::log(2 * std::numbers::pi * variance_)) -
         factor_.log_diagonal(known);
}

}  // namespace skyline::search

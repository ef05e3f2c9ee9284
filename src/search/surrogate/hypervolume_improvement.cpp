#include "search/surrogate/hypervolume_improvement.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "core/system/parts.hpp"
#include "search/surrogate/normal.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace skyline::search {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kCandidatesOfAPart = 64;
constexpr std::size_t kFirstPieces = 5;  // pieces of a scale whose mean slope holds below its first knot

/// A corner of the region: the region is the union of all that lies below its corners.
struct Corner {
  Eigen::VectorXd place;
  /// [objectives, objectives]: the column j is the point from which the corner has its coordinate j.
  Eigen::MatrixXd origins;
};

/// Returns the greatest value of a row but for the columns [0, from) and the column `but`.
double greatest_of_row(const Eigen::MatrixXd& matrix, Eigen::Index row, Eigen::Index from, Eigen::Index but) {
  double greatest = -kInfinity;
  for (Eigen::Index column = from; column < matrix.cols(); ++column) {
    if (column != but) greatest = std::max(greatest, matrix(row, column));
  }
  return greatest;
}

/// Takes what a point dominates from the region.
void cut(std::vector<Corner>& corners, const Eigen::VectorXd& point) {
  const auto is_above = [&](const Corner& corner) { return (point.array() < corner.place.array()).all(); };
  const auto first_above = std::stable_partition(corners.begin(), corners.end(), std::not_fn(is_above));
  const std::vector<Corner> above(std::make_move_iterator(first_above),
                                  std::make_move_iterator(corners.end()));
  corners.erase(first_above, corners.end());
  for (const Corner& corner : above) {
    for (Eigen::Index objective = 0; objective < point.size(); ++objective) {
      // Otherwise another new corner covers this one.
      if (point[objective] < greatest_of_row(corner.origins, objective, 0, objective)) continue;
      Corner& lowered = corners.emplace_back(corner);
      lowered.place[objective] = point[objective];
      lowered.origins.col(objective) = point;
    }
  }
}

Corner corner_of(const Eigen::VectorXd& reference) {
  Eigen::MatrixXd origins = Eigen::MatrixXd::Constant(reference.size(), reference.size(), -kInfinity);
  origins.diagonal() = reference;
  return {reference, std::move(origins)};
}

/// The points that count, the best of the last objective first.
std::vector<Eigen::VectorXd> members_of(const Eigen::MatrixXd& front, const Eigen::VectorXd& reference) {
  ParetoArchive archive(static_cast<std::size_t>(reference.size()));
  for (Eigen::Index column = 0; column < front.cols(); ++column) {
    const Eigen::VectorXd point = front.col(column);
    if ((point.array() >= reference.array()).any()) continue;
    archive.insert(static_cast<std::size_t>(column), {point.data(), static_cast<std::size_t>(point.size())});
  }
  std::vector<Eigen::VectorXd> members;
  for (const std::size_t column : archive.keys())
    members.push_back(front.col(static_cast<Eigen::Index>(column)));
  std::stable_sort(members.begin(), members.end(),
                   [](const Eigen::VectorXd& left, const Eigen::VectorXd& right) {
                     return left[left.size() - 1] < right[right.size() - 1];
                   });
  return members;
}

}  // namespace

HypervolumeImprovement::HypervolumeImprovement(const Eigen::MatrixXd& front, const Eigen::VectorXd& reference,
                                               const std::vector<PiecewiseLinear>& scales) {
  const Eigen::Index objectives = reference.size();
  require(objectives > 0 && front.rows() == objectives,
          "a front has another number of objectives than its reference");
  require(reference.allFinite(), "the reference of a front is not finite");
  require(!front.hasNaN(), "an objective value is NaN");
  std::vector<Corner> corners{corner_of(reference)};
  for (const Eigen::VectorXd& point : members_of(front, reference)) cut(corners, point);

  Eigen::ArrayXXd lower(objectives, std::ssize(corners));
  Eigen::ArrayXXd upper(objectives, std::ssize(corners));
  Eigen::Index boxes = 0;
  for (const Corner& corner : corners) {
    for (Eigen::Index objective = 0; objective < objectives; ++objective) {
      lower(objective, boxes) = greatest_of_row(corner.origins, objective, objective + 1, objective);
    }
    upper.col(boxes) = corner.place;
    if ((lower.col(boxes) < upper.col(boxes)).all()) ++boxes;
  }
  lower_.resize(objectives, boxes);
  upper_.resize(objectives, boxes);
  for (Eigen::Index objective = 0; objective < objectives; ++objective) {
    std::vector<double>& bounds = bounds_.emplace_back();
    bounds.push_back(-kInfinity);
    for (Eigen::Index box = 0; box < boxes; ++box) {
      bounds.push_back(lower(objective, box));
      bounds.push_back(upper(objective, box));
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    const auto place_of = [&](double bound) {
      return static_cast<int>(std::lower_bound(bounds.begin(), bounds.end(), bound) - bounds.begin());
    };
    lower_.row(objective) = lower.row(objective).leftCols(boxes).unaryExpr(place_of);
    upper_.row(objective) = upper.row(objective).leftCols(boxes).unaryExpr(place_of);
    const auto number = static_cast<std::size_t>(objective);
    cuts_.push_back(number < scales.size() ? cuts_of(bounds, scales[number]) : std::vector<Cut>());
  }
}

std::vector<HypervolumeImprovement::Cut> HypervolumeImprovement::cuts_of(const std::vector<double>& bounds,
                                                                         const PiecewiseLinear& scale) {
  const std::size_t knots = scale.places.size();
  if (knots == 0) return {};
  const auto slope = [&](std::size_t from, std::size_t to) {
    return (scale.values[to] - scale.values[from]) / (scale.places[to] - scale.places[from]);
  };
  const double before_first = slope(0, std::min(kFirstPieces, knots - 1));
  std::map<double, bool> places;  // whether it is a bound
  for (const double place : scale.places) places.emplace(place, false);
  for (std::size_t i = 1; i < bounds.size(); ++i) places[bounds[i]] = true;
  std::vector<Cut> cuts;
  std::size_t next = 0;  // the first knot that is not below the cut
  for (const auto& [place, is_bound] : places) {
    while (next < knots && scale.places[next] < place) ++next;
    const std::size_t end = std::min(next, knots - 1);
    cuts.push_back({place, end == 0 ? before_first : slope(end - 1, end), is_bound});
  }
  return cuts;
}

/// Returns for each bound the mean of what an objective is worth less than it.
std::vector<double> HypervolumeImprovement::below(std::size_t objective, double mean,
                                                  double deviation) const {
  std::vector<double> values{0};
  if (cuts_[objective].empty()) {
    for (std::size_t place = 1; place < bounds_[objective].size(); ++place)
      values.push_back(expected_improvement(bounds_[objective][place], deviation, mean));
    return values;
  }
  double worth = 0;
  double before = 0;
  for (const Cut& cut : cuts_[objective]) {
    const double steps = expected_improvement(cut.place, deviation, mean);
    worth += cut.slope * (steps - before);
    before = steps;
    if (cut.is_bound) values.push_back(worth);
  }
  return values;
}

double HypervolumeImprovement::gain_of(const Eigen::VectorXd& mean, const Eigen::VectorXd& deviation) const {
  std::vector<std::vector<double>> gained;
  for (Eigen::Index objective = 0; objective < mean.size(); ++objective)
    gained.push_back(below(static_cast<std::size_t>(objective), mean[objective], deviation[objective]));
  double gain = 0;
  for (Eigen::Index box = 0; box < boxes(); ++box) {
    double volume = 1;
    for (Eigen::Index objective = 0; objective < mean.size(); ++objective) {
      const std::vector<double>& values = gained[static_cast<std::size_t>(objective)];
      volume *= values[static_cast<std::size_t>(upper_(objective, box))] -
                values[static_cast<std::size_t>(lower_(objective, box))];
    }
    gain += volume;
  }
  return gain;
}

Eigen::VectorXd HypervolumeImprovement::operator()(const Eigen::MatrixXd& means,
                                                   const Eigen::MatrixXd& deviations,
                                                   std::size_t threads) const {
  const auto objectives = std::ssize(bounds_);
  require(means.rows() == objectives && deviations.rows() == objectives && means.cols() == deviations.cols(),
          "candidates have another number of objectives than the front");
  Eigen::VectorXd gains(means.cols());
  in_parts(static_cast<std::size_t>(means.cols()), kCandidatesOfAPart, threads,
           [&](std::size_t begin, std::size_t end) {
             for (auto i = static_cast<Eigen::Index>(begin); i < static_cast<Eigen::Index>(end); ++i)
               gains[i] = gain_of(means.col(i), deviations.col(i));
           });
  return gains;
}

}  // namespace skyline::search

#include "search/surrogate/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>

namespace skyline::search {
namespace {

constexpr std::size_t kSample = 300;  // random architectures, for the features and for the first trials
constexpr double kSame = 1e-6;        // largest difference of standardised values that are the same
constexpr double kFarthest = 3.0;     // bound of standardised values
constexpr double kCounts = 3.0;       // weight of all counts of layers together; another column weighs 1

/// Returns how much of each standardised column is its own: 1 / (the sum of its squared correlations with
/// all), so that a fact weighs the same however many columns state it.
Eigen::VectorXd own_shares(const std::vector<Eigen::VectorXd>& columns) {
  Eigen::VectorXd shares(std::ssize(columns));
  if (columns.empty()) return shares;
  const Eigen::Index count = columns.front().size();
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(count, count);
  for (const Eigen::VectorXd& column : columns) gram += column * column.transpose();
  for (Eigen::Index i = 0; i < shares.size(); ++i) {
    const Eigen::VectorXd& column = columns[static_cast<std::size_t>(i)];
    shares[i] = static_cast<double>(count * count) / column.dot(gram * column);
  }
  return shares;
}

/// Returns whether two standardised columns say the same, perhaps with the opposite sign.
bool are_equal(const Eigen::VectorXd& left, const Eigen::VectorXd& right) {
  const double sign = left.dot(right) < 0 ? -1 : 1;
  return (left - sign * right).cwiseAbs().maxCoeff() < kSame;
}

bool is_number(const space::Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

/// Returns the place of each value in the order of the numbers, from 0 to 1; empty unless all are numbers.
std::vector<double> places_of(const std::vector<space::Value>& values) {
  if (!std::ranges::all_of(values, is_number)) return {};
  std::vector<double> sorted;
  for (const space::Value& value : values) sorted.push_back(space::as_number(value));
  std::ranges::sort(sorted);
  std::vector<double> places;
  for (const space::Value& value : values) {
    const auto smaller = std::ranges::lower_bound(sorted, space::as_number(value)) - sorted.begin();
    places.push_back(static_cast<double>(smaller) /
                     static_cast<double>(std::max<std::size_t>(values.size() - 1, 1)));
  }
  return places;
}

}  // namespace

std::vector<Sampled> random_sample(const space::SearchSpace& space, RandomStream& random,
                                   const std::function<void()>& before_each) {
  std::vector<Sampled> drawn;
  std::unordered_set<space::ArchId> ids;
  for (std::size_t i = 0; i < kSample; ++i) {
    if (before_each) before_each();
    const space::BuildAttempt attempt = space.try_build(space.sample(random));
    if (!attempt.architecture || !ids.insert(attempt.architecture->id).second) continue;
    drawn.push_back({std::make_shared<const space::Architecture>(attempt.architecture->unbuilt()),
                     space::features(*attempt.architecture)});
  }
  return drawn;
}

RandomStream stream_of_features() {
  return RandomStream(derive_seed(0, "search.skyline.features"));
}

FeatureColumns::FeatureColumns(const std::vector<Sampled>& sample) {
  const auto count = static_cast<Eigen::Index>(sample.size());
  std::map<std::string, Eigen::VectorXd> values;
  std::set<std::string> counts;
  for (Eigen::Index row = 0; row < count; ++row) {
    for (const space::Feature& feature : sample[static_cast<std::size_t>(row)].features) {
      values.try_emplace(feature.name, Eigen::VectorXd::Zero(count)).first->second[row] = feature.value;
      if (feature.is_count) counts.insert(feature.name);
    }
  }
  std::vector<Eigen::VectorXd> kept;
  for (auto& [name, column] : values) {
    const double mean = column.mean();
    column.array() -= mean;
    const double deviation = std::sqrt(column.squaredNorm() / static_cast<double>(count));
    if (deviation <= kSame * std::max(1.0, std::abs(mean))) continue;
    column /= deviation;
    if (std::ranges::any_of(kept, [&](const auto& other) { return are_equal(column, other); })) continue;
    columns_.push_back({name, mean, deviation});
    kept.push_back(std::move(column));
  }
  std::vector<Eigen::VectorXd> counted;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (counts.contains(columns_[i].name)) counted.push_back(std::move(kept[i]));
  }
  const Eigen::VectorXd shares = own_shares(counted);
  Eigen::Index place = 0;
  for (Column& column : columns_) {
    if (counts.contains(column.name)) column.weight = std::sqrt(kCounts * shares[place++] / shares.sum());
  }
}

Eigen::VectorXd FeatureColumns::values(const std::vector<space::Feature>& features) const {
  Eigen::VectorXd values(static_cast<Eigen::Index>(columns_.size()));
  auto feature = features.begin();
  Eigen::Index place = 0;
  for (const Column& column : columns_) {
    while (feature != features.end() && feature->name < column.name) ++feature;
    const double value = feature != features.end() && feature->name == column.name ? feature->value : 0;
    values[place++] =
        column.weight * std::clamp((value - column.mean) / column.deviation, -kFarthest, kFarthest);
  }
  return values;
}

Embedding::Embedding(const space::SearchSpace& space, const std::vector<Sampled>& sample, double budget_scale)
    : columns_(sample) {
  point_space_.features = static_cast<Eigen::Index>(columns_.size());
  for (const space::Parameter& parameter : space.parameters()) {
    places_.push_back(places_of(parameter.values));
    point_space_.ordinal.push_back(!places_.back().empty());
  }
  Points points{Eigen::MatrixXd(std::ssize(places_), std::ssize(sample)),
                Eigen::MatrixXd(point_space_.features, std::ssize(sample))};
  for (Eigen::Index i = 0; i < std::ssize(sample); ++i) {
    const Sampled& one = sample[static_cast<std::size_t>(i)];
    const ModelPoint made = point(*one.architecture, one.features);
    points.parameters.col(i) = made.parameters;
    points.features.col(i) = made.features;
  }
  point_space_ = measured_space(point_space_.ordinal, points);
  point_space_.budget_scale = budget_scale;
  point_space_.has_lengths = !space.has_network();
}

ModelPoint Embedding::point(const space::Architecture& architecture,
                            const std::vector<space::Feature>& features) const {
  ModelPoint point{Eigen::VectorXd(static_cast<Eigen::Index>(places_.size())), columns_.values(features)};
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::uint32_t choice = architecture.genotype.choices[i];
    const double place = places_[i].empty() ? static_cast<double>(choice) : places_[i][choice];
    point.parameters[static_cast<Eigen::Index>(i)] =
        architecture.used[i] ? place : std::numeric_limits<double>::quiet_NaN();
  }
  return point;
}

double Embedding::distance(const ModelPoint& left, const ModelPoint& right) const {
  if (point_space_.features > 0)
    return (left.features - right.features).squaredNorm() / point_space_.feature_scale;
  double parameters = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const double a = left.parameters[static_cast<Eigen::Index>(i)];
    const double b = right.parameters[static_cast<Eigen::Index>(i)];
    if (std::isnan(a) || std::isnan(b)) {
      parameters += std::isnan(a) != std::isnan(b) ? 1 : 0;
    } else {
      parameters += point_space_.ordinal[i] ? std::abs(a - b) : a == b ? 0 : 1;
    }
  }
  return parameters / point_space_.parameter_scale;
}

ModelPoint Embedding::middle() const {
  constexpr double kNoWord = -1;
  ModelPoint point{Eigen::VectorXd(std::ssize(places_)), Eigen::VectorXd(0)};
  for (std::size_t i = 0; i < places_.size(); ++i)
    point.parameters[static_cast<Eigen::Index>(i)] = point_space_.ordinal[i] ? 0.5 : kNoWord;
  return point;
}

}  // namespace skyline::search

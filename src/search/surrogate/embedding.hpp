#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/space/encoding.hpp"
#include "skyline/space/search_space.hpp"

#include "search/surrogate/points.hpp"

#include <functional>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// An architecture of a sample of the space, and the features of its network, which is not kept.
struct Sampled {
  ArchitecturePointer architecture;
  std::vector<space::Feature> features;
};

/// Draws random architectures of a space, each once.
/// @param before_each  called before each is built; it may throw to leave
std::vector<Sampled> random_sample(const space::SearchSpace& space, RandomStream& random,
                                   const std::function<void()>& before_each = {});
/// Returns the random stream of the sample by which every model of a space sees its architectures.
RandomStream stream_of_features();

/// The features that tell the networks of a space apart, chosen by a sample of the space and standardised by
/// it. Features that are constant there are left out, and those that only repeat another one up to scale and
/// offset. Counts of layers, which may be hundreds, share the weight of a few columns.
class FeatureColumns {
 public:
  /// @param sample  without networks there is no column
  explicit FeatureColumns(const std::vector<Sampled>& sample);

  std::size_t size() const { return columns_.size(); }
  /// Returns the standardised values of a network, cut to [-3, 3] and weighted, in the order of their names.
  Eigen::VectorXd values(const std::vector<space::Feature>& features) const;

 private:
  struct Column {
    std::string name;
    double mean = 0;
    double deviation = 1;
    double weight = 1;
  };

  std::vector<Column> columns_;
};

/// An architecture as a model sees it.
struct ModelPoint {
  Eigen::VectorXd parameters;  // [parameters], see PointSpace
  Eigen::VectorXd features;    // [features]
  double budget = 0;           // logarithm of the share of the whole budget
};

/// Makes points of the architectures of a space. Immutable, so any thread may use it.
class Embedding {
 public:
  /// @param sample        architectures of the space, always the same ones
  /// @param budget_scale  see PointSpace
  Embedding(const space::SearchSpace& space, const std::vector<Sampled>& sample, double budget_scale = 0);

  const PointSpace& point_space() const { return point_space_; }
  /// Returns the number of features.
  std::size_t features() const { return columns_.size(); }
  ModelPoint point(const space::Architecture& architecture,
                   const std::vector<space::Feature>& features) const;
  /// Returns how different two architectures are: 2 for two random ones, about.
  double distance(const ModelPoint& left, const ModelPoint& right) const;
  /// Returns the middle of a space without networks: of each range, and equally far from all words.
  ModelPoint middle() const;
  /// Returns the place in [0, 1] of each value of a parameter; none if it is categorical.
  const std::vector<double>& places(std::size_t parameter) const { return places_[parameter]; }

 private:
  FeatureColumns columns_;
  PointSpace point_space_;
  std::vector<std::vector<double>> places_;  // position of each parameter's values; empty for words
};

}  // namespace skyline::search

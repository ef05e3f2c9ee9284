#include "search/model/cost_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace skyline::search {

CostEstimate::CostEstimate(const Embedding& embedding, std::size_t costs) : embedding_(embedding) {
  for (std::size_t i = 0; i < costs; ++i) costs_.emplace_back(embedding.point_space());
}

void CostEstimate::add(const CandidatePointer& counted) {
  const space::Architecture& architecture = *counted->architecture;
  if (known_.size() == kMostKnown || architecture.counted.size() != costs_.size()) return;
  if (ids_.insert(architecture.id).second) known_.push_back(counted);
}

void CostEstimate::fit() {
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (costs_[i].process.size() < std::ssize(known_)) fit(costs_[i], i);
  }
}

/// Most costs are products of parameters, so logarithms are learned where all values are above 0.
void CostEstimate::fit(Cost& cost, std::size_t number) {
  Eigen::ArrayXd values(std::ssize(known_));
  for (Eigen::Index i = 0; i < values.size(); ++i)
    values[i] = known_[static_cast<std::size_t>(i)]->architecture->counted[number];
  cost.is_log = values.minCoeff() > 0;
  if (cost.is_log) values = values.log();
  cost.offset = values.mean();
  const double deviation = std::sqrt((values - cost.offset).square().mean());
  cost.scale = deviation > 0 ? deviation : 1;
  const Eigen::VectorXd targets = ((values - cost.offset) / cost.scale).matrix();
  const auto first = static_cast<std::size_t>(cost.process.size());
  cost.process.add(points_of(std::span(known_).subspan(first), embedding_.point_space()));
  const Eigen::Index choice = GaussianProcess::choice_size(targets.size());
  if (std::exchange(cost.chosen_by, choice) != choice) cost.process.choose_hyper(targets.head(choice));
  cost.process.fit(targets);
  cost.least = targets.minCoeff() - 1;
  cost.most = targets.maxCoeff() + 1;
}

std::vector<CandidatePointer> CostEstimate::estimated(const std::vector<CandidatePointer>& candidates) {
  fit();
  const Points points = points_of(candidates, embedding_.point_space());
  std::vector<std::uint64_t> keys;
  std::vector<std::vector<double>> values(candidates.size(), std::vector<double>(costs_.size()));
  for (const CandidatePointer& one : candidates) keys.push_back(one->key);
  for (std::size_t number = 0; number < costs_.size() && !known_.empty() && !candidates.empty(); ++number) {
    Cost& cost = costs_[number];
    const Prediction prediction = cost.forecast.predict(points, keys);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double target = std::clamp(prediction.mean[static_cast<Eigen::Index>(i)], cost.least, cost.most);
      const double value = cost.offset + cost.scale * target;
      values[i][number] = cost.is_log ? std::exp(value) : value;
    }
  }
  std::vector<CandidatePointer> estimated;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    space::Architecture architecture = *candidates[i]->architecture;
    architecture.counted = std::move(values[i]);
    estimated.push_back(std::make_shared<const Candidate>(
        Candidate{std::make_shared<const space::Architecture>(std::move(architecture)), candidates[i]->point,
                  candidates[i]->key}));
  }
  return estimated;
}

}  // namespace skyline::search

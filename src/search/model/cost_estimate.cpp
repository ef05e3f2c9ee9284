#include "search/model/cost_estimate.hpp"

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

/// Most costs are products of parameters, so logarithms are learned where all values are above 0. Scale and
/// hyper-parameters follow from the same values, whichever were known when they were chosen: a resumed run
/// fits once where the run before it fitted after each trial.
void CostEstimate::fit(Cost& cost, std::size_t number) {
  Eigen::ArrayXd values(std::ssize(known_));
  for (Eigen::Index i = 0; i < values.size(); ++i)
    values[i] = known_[static_cast<std::size_t>(i)]->architecture->counted[number];
  const bool is_log = values.minCoeff() > 0;
  if (is_log) values = values.log();
  const auto first = static_cast<std::size_t>(cost.process.size());
  cost.process.add(points_of(std::span(known_).subspan(first), embedding_.point_space()));
  const Eigen::Index choice = GaussianProcess::choice_size(values.size());
  if (cost.chosen_by != choice || cost.is_log != is_log) {
    cost.chosen_by = choice;
    cost.is_log = is_log;
    cost.offset = values.head(choice).mean();
    const double deviation = std::sqrt((values.head(choice) - cost.offset).square().mean());
    cost.scale = deviation > 0 ? deviation : 1;
    cost.process.choose_hyper(((values.head(choice) - cost.offset) / cost.scale).matrix());
  }
  cost.process.fit(((values - cost.offset) / cost.scale).matrix());
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
      const double value = cost.offset + cost.scale * prediction.mean[static_cast<Eigen::Index>(i)];
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

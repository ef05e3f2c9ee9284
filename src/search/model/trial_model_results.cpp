#include "search/model/trial_model.hpp"
#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

namespace skyline::search {

void TrialModel::tell(const trial::CommittedTrial& committed, CandidatePointer candidate, std::size_t count) {
  points_.resize(observations_.size());
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  const auto lacks = [&](const Column& column) {
    return column.measured_index && std::isnan(measured->values[*column.measured_index]);
  };
  Observation told{committed.trial.number, std::nullopt, std::nullopt, count};
  const bool is_complete = measured != nullptr && std::ranges::none_of(columns_, lacks);
  // What a version before recorded without its values counts as a failure.
  const bool is_outside = trial::is_outside(committed.outcome) && says_something(measured->values);
  if (is_complete || is_outside) told.measured = measured->values;
  if (is_complete && !is_outside) told.minimized = objectives_.minimized(committed);
  const std::size_t place = is_outside ? observations_.size() : trained();
  outside_ += is_outside ? 1 : 0;
  successes_ += is_complete && !is_outside ? 1 : 0;
  points_.insert(points_.begin() + static_cast<std::ptrdiff_t>(place), std::move(candidate));
  observations_.insert(observations_.begin() + static_cast<std::ptrdiff_t>(place), told);
  if (told.minimized && is_whole(place)) front_.insert(place, *told.minimized);
  if (observations_.size() >= most_) forget();
}

/// Returns whether a column has a value.
bool TrialModel::says_something(const std::vector<double>& measured) const {
  return std::ranges::any_of(columns_, [&](const Column& column) {
    return column.measured_index && !std::isnan(measured[*column.measured_index]);
  });
}

/// Returns the places of the whole results, best first: front by front, the newest of a front first; then
/// those that break a constraint.
std::vector<std::size_t> TrialModel::ranked() const {
  std::vector<std::size_t> allowed;
  std::vector<std::size_t> others;
  std::vector<std::vector<double>> objectives;
  for (std::size_t i = trained(); i-- > 0;) {
    if (!observations_[i].measured || !is_whole(i)) continue;
    (observations_[i].minimized ? allowed : others).push_back(i);
    if (observations_[i].minimized) objectives.push_back(*observations_[i].minimized);
  }
  const std::vector<std::size_t> ranks = front_ranks(objectives);
  std::vector<std::size_t> order(allowed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return ranks[i]; });
  std::vector<std::size_t> ranked;
  for (const std::size_t i : order) ranked.push_back(allowed[i]);
  ranked.insert(ranked.end(), others.begin(), others.end());
  return ranked;
}

std::vector<CandidatePointer> TrialModel::ranked_trials() const {
  const bool has_known =
      std::ranges::any_of(columns_, [](const Column& one) { return one.prior.has_value(); });
  if (has_known || embedding_.point_space().budget_scale > 0) return {};
  std::vector<std::size_t> order(trained());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Observation& one = observations_[i];
    return one.minimized ? std::pair(0, one.minimized->front()) : std::pair(one.measured ? 1 : 2, 0.0);
  });
  std::vector<CandidatePointer> ranked;
  for (const std::size_t i : order) ranked.push_back(points_[i]);
  return ranked;
}

/// Returns the places of the results to be kept, in their order: half as many as there may be that are best,
/// with what the same architectures had after parts of the budget; then the newest others, a quarter.
std::vector<std::size_t> TrialModel::most_informative() const {
  std::unordered_map<space::ArchId, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < observations_.size(); ++i) places[points_[i]->architecture->id].push_back(i);
  std::set<std::size_t> kept;
  for (const std::size_t best : ranked()) {
    const std::vector<std::size_t>& same = places.at(points_[best]->architecture->id);
    if (kept.size() + same.size() > most_ / 2) break;
    kept.insert(same.begin(), same.end());
  }
  for (std::size_t i = observations_.size(); i-- > 0 && kept.size() < most_ / 2 + most_ / 4;) kept.insert(i);
  return {kept.begin(), kept.end()};
}

/// What is forgotten depends on the results alone, not on when the model was fitted to them: a resumed run
/// tells them all at once.
void TrialModel::forget() {
  const std::vector<std::size_t> kept = most_informative();
  const std::size_t trained_before = trained();
  const std::vector<Observation> told = std::exchange(observations_, {});
  const std::vector<CandidatePointer> points = std::exchange(points_, {});
  front_ = ParetoArchive(objectives_.objectives().size());
  successes_ = 0;
  outside_ = 0;
  for (const std::size_t place : kept) {
    points_.push_back(points[place]);
    observations_.push_back(told[place]);
    if (place >= trained_before) ++outside_;
    if (place < trained_before && observations_.back().measured) ++successes_;
    if (observations_.back().minimized && is_whole(observations_.size() - 1))
      front_.insert(observations_.size() - 1, *observations_.back().minimized);
  }
  for (Column& column : columns_) column.chosen_by = 0;
}

}  // namespace skyline::search

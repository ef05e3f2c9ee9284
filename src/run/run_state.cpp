#include "run/run_state.hpp"

#include "skyline/core/error.hpp"

#include "trial/refit.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace skyline::run {
namespace {

bool is_minimized(const objective::Objective& objective) {
  return objective.sense == objective::Sense::kMinimize;
}

}  // namespace

FrontPoints points_of(const search::ParetoArchive& front) {
  FrontPoints points;
  for (std::size_t i = 0; i < front.size(); ++i) {
    const auto values = front.values_of(i);
    points.minimized.insert(points.minimized.end(), values.begin(), values.end());
  }
  return points;
}

double volume_between(const std::vector<objective::Objective>& objectives, const FrontPoints& points) {
  const std::size_t columns = objectives.size();
  std::vector<double> scaled = points.minimized;  // 0 is the ideal, 1 the reference
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const objective::Objective& objective = objectives[i % columns];
    scaled[i] = normalized(objective, is_minimized(objective) ? scaled[i] : -scaled[i]);
  }
  return search::hypervolume(scaled, std::vector<double>(columns, 1.0));
}

std::optional<double> volume_of(const objective::ObjectiveSet& objectives, const FrontPoints& points) {
  if (!objectives.has_volume()) return std::nullopt;
  return volume_between(objectives.objectives(), points);
}

RunState::RunState(objective::ObjectiveSet objectives, std::uint32_t repeats)
    : objectives_(std::move(objectives)),
      front_(objectives_.objectives().size(), repeats),
      final_front_(final_objectives().objectives().size()) {}

void RunState::add(const Commit& commit) {
  const trial::CommittedTrial& committed = *commit.trial;
  require(trials_.size() == committed.position, "a commit is out of its place");
  trials_.add(committed);
  ++committed_.at(index(committed.trial.phase()));
  if (commit.replayed) ++replayed_;
  if (std::holds_alternative<trial::Failure>(committed.outcome)) ++failed_;
  if (trial::is_outside(committed.outcome)) ++outside_;
  if (trial::has_extent(committed.outcome, trial::Extent::kPruned)) ++pruned_;
  left_behind_.clear();
  left_final_front_.clear();
  if (committed.trial.is_final()) {
    add_full_training(commit.trial);
  } else {
    add_search_trial(commit.trial);
    for (const trial::TrialNumber left : left_behind_) {
      if (!full_trainings(left).empty() && !on_final_front(left)) left_final_front_.push_back(left);
    }
  }
}

void RunState::add_search_trial(const SharedTrial& trial) {
  const search::RepeatedFront::Change change = front_.tell(objectives_, trial);
  left_behind_ = change.left;
  const trial::TrialNumber first = front_.first_of(trial->trial);
  if (change.counts && first != trial->trial.number) repeats_[first].push_back(trial->position);
  if (!change.front_changed) return;
  points_.reset();
  const search::ParetoArchive& front = front_.front();
  members_ = {front.keys().begin(), front.keys().end()};
  best_.clear();
  for (std::size_t i = 0; i < front.size(); ++i) {
    const std::span<const double> values = front.values_of(i);
    best_.resize(values.size(), std::numeric_limits<double>::infinity());
    for (std::size_t column = 0; column < values.size(); ++column)
      best_[column] = std::min(best_[column], values[column]);
  }
  for (std::size_t i = 0; i < best_.size(); ++i) {
    if (!is_minimized(objectives_.objectives()[i])) best_[i] = -best_[i];
  }
}

/// Trainings with another budget than the latest one are not compared with it. A repeat makes no weights
/// superfluous, because a later one may bring its trial, or another one, back to the final front.
void RunState::add_full_training(const SharedTrial& trial) {
  const trial::TrialNumber number = trial->trial.number;
  full_trainings_[number].push_back(trial);
  if (trial::is_refit(trial->trial)) return;  // nothing is compared with it
  std::vector<trial::TrialNumber> affected = final_front_.keys();
  affected.push_back(number);
  if (final_budget_ != trial->trial.budget()) {
    final_budget_ = trial->trial.budget();
    final_means_.clear();
    for (const auto& [each, trainings] : full_trainings_) {
      if (const auto repeats = final_repeats(each); !repeats.empty())
        final_means_[each] = search::mean_of(repeats);
    }
    compare_full_trainings();
  } else if (final_means_.contains(number)) {
    final_means_[number] = search::mean_of(final_repeats(number));
    compare_full_trainings();
    return;
  } else {
    final_means_[number] = trial;
    if (const auto values = final_objectives().minimized(*trial)) final_front_.insert(number, *values);
  }
  for (const trial::TrialNumber each : affected) {
    if (!on_front(each) && !on_final_front(each)) left_final_front_.push_back(each);
  }
}

/// Makes the final front anew, in the order of the commits.
void RunState::compare_full_trainings() {
  std::vector<SharedTrial> means;
  for (const auto& [number, mean] : final_means_) means.push_back(mean);
  std::ranges::sort(means, {}, [](const SharedTrial& mean) { return mean->position; });
  final_front_ = search::ParetoArchive(final_objectives().objectives().size());
  for (const SharedTrial& mean : means) {
    if (const auto values = final_objectives().minimized(*mean))
      final_front_.insert(mean->trial.number, *values);
  }
}

void RunState::begin_phase(trial::Phase phase, std::size_t expected) {
  phase_ = phase;
  expected_.at(index(phase)) = expected;
  before_phase_ = committed(phase);
}

SharedTrial RunState::search_trial(trial::TrialNumber number) const {
  const auto position = trials_.position_of(number);
  require(position.has_value(), "a trial is not committed yet");
  return trials_[*position];
}

std::vector<SharedTrial> RunState::search_repeats(trial::TrialNumber number) const {
  std::vector<SharedTrial> all{search_trial(number)};
  if (const auto found = repeats_.find(number); found != repeats_.end()) {
    for (const trial::CommitPosition position : found->second) all.push_back(trials_[position]);
  }
  return all;
}

SharedTrial RunState::search_mean(trial::TrialNumber number) const {
  return search::mean_of(search_repeats(number));
}

std::span<const SharedTrial> RunState::full_trainings(trial::TrialNumber number) const {
  const auto found = full_trainings_.find(number);
  return found == full_trainings_.end() ? std::span<const SharedTrial>() : found->second;
}

std::vector<SharedTrial> RunState::final_repeats(trial::TrialNumber number) const {
  std::vector<SharedTrial> repeats;
  std::ranges::copy_if(full_trainings(number), std::back_inserter(repeats), [&](const SharedTrial& training) {
    return training->trial.budget() == final_budget_ && !trial::is_refit(training->trial);
  });
  return repeats;
}

SharedTrial RunState::final_training(trial::TrialNumber number) const {
  const auto repeats = final_repeats(number);
  return repeats.empty() ? nullptr : repeats.front();
}

SharedTrial RunState::final_mean(trial::TrialNumber number) const {
  const auto found = final_means_.find(number);
  return found == final_means_.end() ? nullptr : found->second;
}

SharedTrial RunState::refit_of(trial::TrialNumber number) const {
  const auto trainings = full_trainings(number);
  const auto found = std::ranges::find_if(trainings, [&](const SharedTrial& training) {
    return trial::is_refit(training->trial) && trial::full_budget(training->trial) == final_budget_;
  });
  return found == trainings.end() ? nullptr : *found;
}

bool RunState::on_its_front(const trial::Trial& trial) const {
  if (!trial.is_final()) return on_front(trial.number);
  return trial::full_budget(trial) == final_budget_ && on_final_front(trial.number);
}

const std::shared_ptr<const FrontPoints>& RunState::points() const {
  if (points_ == nullptr) points_ = std::make_shared<const FrontPoints>(points_of(front_.front()));
  return points_;
}

}  // namespace skyline::run

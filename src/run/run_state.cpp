#include "run/run_state.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>

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

std::optional<double> volume_of(const objective::ObjectiveSet& objectives, const FrontPoints& points) {
  if (!objectives.has_volume()) return std::nullopt;
  const std::size_t columns = objectives.objectives().size();
  std::vector<double> scaled = points.minimized;  // 0 is the ideal, 1 the reference
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const objective::Objective& objective = objectives.objectives()[i % columns];
    scaled[i] = normalized(objective, is_minimized(objective) ? scaled[i] : -scaled[i]);
  }
  return search::hypervolume(scaled, std::vector<double>(columns, 1.0));
}

RunState::RunState(objective::ObjectiveSet objectives)
    : objectives_(std::move(objectives)),
      front_(objectives_.objectives().size()),
      final_front_(objectives_.objectives().size()) {}

void RunState::add(const Commit& commit) {
  const trial::CommittedTrial& committed = *commit.trial;
  require(trials_.size() == committed.position, "a commit is out of its place");
  trials_.add(committed);
  ++committed_.at(index(committed.trial.phase()));
  if (commit.replayed) ++replayed_;
  if (std::holds_alternative<trial::Failure>(committed.outcome)) ++failed_;
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
  const trial::TrialNumber number = trial->trial.number;
  const auto values = objectives_.values(*trial);
  if (!values || trial->trial.may_be_continued()) {
    left_behind_ = {number};
    return;
  }
  const auto& objectives = objectives_.objectives();
  if (best_.empty()) best_ = *values;
  for (std::size_t i = 0; i < best_.size(); ++i) {
    best_[i] =
        is_minimized(objectives[i]) ? std::min(best_[i], (*values)[i]) : std::max(best_[i], (*values)[i]);
  }
  std::vector<std::size_t> removed;
  const bool grew = front_.insert(number, objectives_.minimized(*trial).value(), &removed);
  left_behind_.assign(removed.begin(), removed.end());
  for (const trial::TrialNumber left : left_behind_) members_.erase(left);
  if (grew) {
    members_.insert(number);
  } else {
    left_behind_.push_back(number);
  }
  if (grew) points_.reset();
}

/// Trainings with another budget than the latest one are not compared with it.
void RunState::add_full_training(const SharedTrial& trial) {
  full_trainings_[trial->trial.number].push_back(trial);
  std::vector<trial::TrialNumber> affected = final_front_.keys();
  affected.push_back(trial->trial.number);
  const bool new_budget = final_budget_ != trial->trial.budget();
  if (new_budget) final_front_ = search::ParetoArchive(objectives_.objectives().size());
  final_budget_ = trial->trial.budget();
  const auto insert = [this](const SharedTrial& training) {
    const auto values = objectives_.minimized(*training);
    if (values) final_front_.insert(training->trial.number, *values);
  };
  if (new_budget) {
    for (const SharedTrial& training : trainings_of(*final_budget_)) insert(training);
  } else {
    insert(trial);
  }
  for (const trial::TrialNumber number : affected) {
    if (!on_front(number) && !on_final_front(number)) left_final_front_.push_back(number);
  }
}

/// Returns them in the order of their commits.
std::vector<SharedTrial> RunState::trainings_of(const trial::Budget& budget) const {
  std::vector<SharedTrial> found;
  for (const auto& [number, trainings] : full_trainings_) {
    for (const SharedTrial& training : trainings) {
      if (training->trial.budget() == budget) found.push_back(training);
    }
  }
  std::ranges::sort(found, {}, [](const SharedTrial& training) { return training->position; });
  return found;
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

std::span<const SharedTrial> RunState::full_trainings(trial::TrialNumber number) const {
  const auto found = full_trainings_.find(number);
  return found == full_trainings_.end() ? std::span<const SharedTrial>() : found->second;
}

SharedTrial RunState::final_training(trial::TrialNumber number) const {
  for (const SharedTrial& training : full_trainings(number)) {
    if (training->trial.budget() == final_budget_) return training;
  }
  return nullptr;
}

bool RunState::on_its_front(const trial::Trial& trial) const {
  if (!trial.is_final()) return on_front(trial.number);
  return trial.budget() == final_budget_ && on_final_front(trial.number);
}

const std::shared_ptr<const FrontPoints>& RunState::points() const {
  if (points_ == nullptr) points_ = std::make_shared<const FrontPoints>(points_of(front_));
  return points_;
}

}  // namespace skyline::run

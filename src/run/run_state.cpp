#include "run/run_state.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace skyline::run {
namespace {

constexpr double kMargin = 0.1;  // of the worst value's size, so that the worst points count as well

bool is_minimized(const objective::Objective& objective) {
  return objective.sense == objective::Sense::kMinimize;
}

double reference_of(const objective::Objective& objective, double worst) {
  const double margin = kMargin * std::abs(worst);
  if (is_minimized(objective)) return worst + margin;
  return worst >= 0 ? 0 : worst - margin;
}

/// Widens `worst` (empty: none so far) by a trial's values, in the user's senses.
void keep_worst(std::span<const objective::Objective> objectives, std::span<const double> values,
                std::vector<double>& worst) {
  if (worst.empty()) worst.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    worst[i] = is_minimized(objectives[i]) ? std::max(worst[i], values[i]) : std::min(worst[i], values[i]);
  }
}

}  // namespace

FrontVolume volume_of(std::span<const objective::Objective> objectives, const FrontPoints& points) {
  FrontVolume result;
  if (points.worst.empty()) return result;
  std::vector<double> minimized_reference;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double reference = reference_of(objectives[i], points.worst[i]);
    result.reference.push_back(reference);
    minimized_reference.push_back(is_minimized(objectives[i]) ? reference : -reference);
  }
  result.volume = search::hypervolume(points.minimized, minimized_reference);
  return result;
}

RunState::RunState(objective::ObjectiveSet objectives)
    : objectives_(std::move(objectives)), front_(objectives_.objectives().size()) {}

void RunState::add(const Commit& commit) {
  const trial::CommittedTrial& committed = *commit.trial;
  require(log_.add(committed.trial) == committed.position, "a commit is out of its place");
  trials_.push_back(commit.trial);
  ++committed_.at(index(committed.trial.phase()));
  if (commit.replayed) ++replayed_;
  if (std::holds_alternative<trial::Failure>(committed.outcome)) ++failed_;
  left_behind_.clear();
  if (committed.trial.is_final()) {
    full_trainings_[committed.trial.number].push_back(commit.trial);
  } else {
    add_search_trial(commit.trial);
  }
}

void RunState::add_search_trial(const SharedTrial& trial) {
  const trial::TrialNumber number = trial->trial.number;
  const auto values = objectives_.values(*trial);
  if (!values) {
    left_behind_ = {number};
    return;
  }
  const auto& objectives = objectives_.objectives();
  const std::vector<double> worst_before = worst_;
  keep_worst(objectives, *values, worst_);
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
  if (grew || worst_ != worst_before) points_.reset();
}

void RunState::begin_phase(trial::Phase phase, std::size_t expected) {
  phase_ = phase;
  expected_.at(index(phase)) = expected;
  before_phase_ = committed(phase);
}

const trial::CommittedTrial& RunState::search_trial(trial::TrialNumber number) const {
  const auto position = log_.position_of(number);
  require(position.has_value(), "a trial is not committed yet");
  return *trials_[*position];
}

std::span<const SharedTrial> RunState::full_trainings(trial::TrialNumber number) const {
  const auto found = full_trainings_.find(number);
  return found == full_trainings_.end() ? std::span<const SharedTrial>() : found->second;
}

const std::shared_ptr<const FrontPoints>& RunState::points() const {
  if (points_ != nullptr) return points_;
  FrontPoints points{{}, worst_};
  for (std::size_t i = 0; i < front_.size(); ++i) {
    const auto values = front_.values_of(i);
    points.minimized.insert(points.minimized.end(), values.begin(), values.end());
  }
  points_ = std::make_shared<const FrontPoints>(std::move(points));
  return points_;
}

FrontVolume RunState::volume() const {
  return volume_of(objectives_.objectives(), *points());
}

}  // namespace skyline::run

#include "search/pareto/repeated_front.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>

namespace skyline::search {

trial::SharedTrial mean_of(const std::vector<trial::SharedTrial>& repeats) {
  std::vector<double> means;
  std::vector<double> counts;
  for (const trial::SharedTrial& repeat : repeats) {
    const auto* measured = std::get_if<trial::Measurements>(&repeat->outcome);
    if (measured == nullptr || trial::is_outside(repeat->outcome)) continue;
    means.resize(measured->values.size(), std::nan(""));
    counts.resize(measured->values.size());
    for (std::size_t i = 0; i < means.size(); ++i) {
      const double value = measured->values[i];
      if (std::isnan(value)) continue;
      if (++counts[i] == 1) means[i] = 0;
      means[i] += (value - means[i]) / counts[i];  // equal values have exactly that mean
    }
  }
  if (repeats.size() == 1 || means.empty()) return repeats.front();
  auto mean = std::make_shared<trial::CommittedTrial>(*repeats.front());
  mean->outcome = trial::Measurements{std::move(means)};
  return mean;
}

RepeatedFront::RepeatedFront(std::size_t num_objectives, std::uint32_t repeats)
    : repeats_(repeats), decided_(num_objectives), front_(num_objectives) {}

RepeatedFront::Change RepeatedFront::tell(const objective::ObjectiveSet& objectives,
                                          const trial::SharedTrial& committed) {
  Change change;
  const trial::Trial& trial = committed->trial;
  const bool is_repeat = repeats_ > 1 && trial.proposal.repeat > 0;
  if (repeats_ > 1 && !is_repeat) firsts_.emplace(trial.architecture().id, trial.number);
  if (is_repeat) change.left.push_back(trial.number);
  const trial::TrialNumber number = is_repeat ? first_of(trial) : trial.number;
  change.counts = !is_repeat || open_.contains(number);
  if (!change.counts) return change;

  const auto place = open_.try_emplace(number).first;
  Open& open = place->second;
  open.repeats.push_back(committed);
  const trial::SharedTrial mean = mean_of(open.repeats);
  auto values = trial.may_be_continued() ? std::nullopt : objectives.minimized(*mean);
  if (values) {
    open.values = *std::move(values);
  } else {
    change.left.push_back(number);
    change.front_changed = open.repeats.size() > 1;
    close(place, change);
  }
  while (decide_one(change)) continue;
  if (open_.empty()) return change;
  change.front_changed = true;
  join();
  return change;
}

trial::TrialNumber RepeatedFront::first_of(const trial::Trial& trial) const {
  const auto first = firsts_.find(trial.architecture().id);
  return first == firsts_.end() ? trial.number : first->second;
}

/// Decides whether the first open architecture for which this is certain belongs to the front, and closes it.
/// Returns false if nothing is certain yet.
bool RepeatedFront::decide_one(Change& change) {
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    const auto& [number, its] = *open;
    if (is_beaten(its.values)) {
      change.left.push_back(number);
      change.front_changed = change.front_changed || its.repeats.size() > 1;
      close(open, change);
      return true;
    }
    const bool may_be_beaten = std::ranges::any_of(
        open_, [&](const auto& other) { return dominates(other.second.values, its.values); });
    if (its.repeats.size() < repeats_ || may_be_beaten) continue;
    std::vector<std::size_t> removed;
    decided_.insert(number, its.values, &removed);
    change.left.insert(change.left.end(), removed.begin(), removed.end());
    change.front_changed = true;
    close(open, change);
    return true;
  }
  return false;
}

/// Returns whether something that is decided beats these values.
bool RepeatedFront::is_beaten(const std::vector<double>& values) const {
  for (std::size_t i = 0; i < decided_.size(); ++i) {
    if (dominates(decided_.values_of(i), values)) return true;
  }
  return false;
}

void RepeatedFront::close(std::map<trial::TrialNumber, Open>::iterator open, Change& change) {
  const std::vector<trial::SharedTrial>& repeats = open->second.repeats;
  const auto succeeded = std::ranges::count_if(repeats, [](const trial::SharedTrial& repeat) {
    return std::holds_alternative<trial::Measurements>(repeat->outcome) &&
           !trial::is_outside(repeat->outcome);
  });
  change.decided.push_back(
      {mean_of(repeats), static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, succeeded))});
  open_.erase(open);
}

/// Makes the front of what is decided and of what is open.
void RepeatedFront::join() {
  front_ = decided_;
  for (const auto& [number, open] : open_) front_.insert(number, open.values);
}

}  // namespace skyline::search

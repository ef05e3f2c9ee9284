#include "search/pruning_bars.hpp"

#include "skyline/search/pareto.hpp"

#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace skyline::search {
namespace {

constexpr std::size_t kNewestKnown = 1000;  // so many newest results make a bar, which bounds its cost
constexpr std::size_t kMostBarPoints = 64;  // bounds messages between ranks
constexpr double kRounding = 1e-9;          // 0.1 of 30 trials are 3, whatever the last bit says

/// Returns the most different points, if there are more than kMostBarPoints.
std::vector<std::vector<double>> thinned(std::vector<std::vector<double>> front) {
  std::ranges::sort(front);
  front.erase(std::unique(front.begin(), front.end()), front.end());
  if (front.size() <= kMostBarPoints) return front;
  const std::vector<double> distances = crowding_distances(front, std::vector<std::size_t>(front.size(), 0));
  std::vector<std::size_t> places(front.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, std::ranges::greater(),
                           [&](std::size_t place) { return distances[place]; });
  std::vector<std::vector<double>> kept;
  for (std::size_t i = 0; i < kMostBarPoints; ++i) kept.push_back(std::move(front[places[i]]));
  return kept;
}

}  // namespace

StepComparison::StepComparison(const objective::ObjectiveSet& objectives,
                               const std::vector<trial::Metric>& metrics)
    : objectives_(objectives) {
  for (const objective::Objective& objective : objectives.objectives()) {
    if (objective.computed) {
      compared_.push_back(objective);
      continue;
    }
    const trial::Metric& metric = metrics.at(objective.measured_index);
    if (metric.has_course) reported_.push_back(metric.name);
    if (metric.has_course || metric.is_before) compared_.push_back(objective);
  }
}

std::vector<std::string> StepComparison::left_out() const {
  std::vector<std::string> names;
  for (const objective::Objective& objective : objectives_.objectives()) {
    if (!compares(objective.metric)) names.push_back(objective.metric);
  }
  return names;
}

bool StepComparison::compares(std::string_view metric) const {
  return std::ranges::find(compared_, metric, &objective::Objective::metric) != compared_.end();
}

std::optional<std::vector<double>> StepComparison::minimized(const space::Architecture& architecture,
                                                             const std::vector<double>& measured) const {
  std::vector<double> values;
  for (const objective::Objective& objective : compared_) {
    const double value = objective.computed ? objective::computed_metric(architecture, objective.metric)
                                            : measured.at(objective.measured_index);
    if (std::isnan(value)) return std::nullopt;
    values.push_back(objective.sense == objective::Sense::kMaximize ? -value : value);
  }
  return values;
}

bool StepComparison::counts(const trial::CommittedTrial& committed) const {
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  if (measured == nullptr || committed.trial.is_final()) return false;
  if (trial::is_whole(committed.outcome)) return objectives_.values(committed).has_value();
  if (trial::is_outside(committed.outcome)) return false;
  return std::ranges::none_of(objectives_.constraints(), [&](const objective::Constraint& constraint) {
    if (constraint.computed || compares(constraint.metric)) return false;  // computed ones are met
    const double value = measured->values.at(constraint.measured_index);   // NaN breaks nothing
    return value < constraint.low || value > constraint.high;
  });
}

bool StepComparison::falls_behind(const trial::PruningBar& bar, const space::Architecture& architecture,
                                  const std::vector<double>& measured) const {
  const std::optional<std::vector<double>> own = minimized(architecture, measured);
  if (!own) return false;
  const std::span<const double> points(bar.points);
  for (std::size_t begin = 0; begin < points.size(); begin += own->size()) {
    if (dominates(points.subspan(begin, own->size()), *own)) return true;
  }
  return false;
}

PruningBars::PruningBars(PruningOptions options, StepComparison comparison)
    : options_(std::move(options)),
      comparison_(std::move(comparison)),
      known_(options_.at.size()),
      is_outdated_(options_.at.size()) {
  for (const std::int64_t step : options_.at) bars_.push_back({step, {}});
}

void PruningBars::tell(const trial::CommittedTrial& committed) {
  if (!comparison_.counts(committed)) return;
  for (const trial::StepValues& step : std::get<trial::Measurements>(committed.outcome).steps) {
    const auto place = std::ranges::find(options_.at, step.step) - options_.at.begin();
    if (place == std::ssize(options_.at)) continue;
    auto values = comparison_.minimized(committed.trial.architecture(), step.values);
    if (!values) continue;
    Points& known = known_[static_cast<std::size_t>(place)];
    known.push_back(*std::move(values));
    if (known.size() > kNewestKnown) known.pop_front();
    is_outdated_[static_cast<std::size_t>(place)] = true;
  }
}

const std::vector<trial::PruningBar>& PruningBars::bars() {
  for (std::size_t step = 0; step < bars_.size(); ++step) {
    if (!is_outdated_[step] || known_[step].size() < options_.least) continue;
    bars_[step].points = points_of_bar(known_[step]);
    is_outdated_[step] = false;
  }
  return bars_;
}

std::vector<double> PruningBars::points_of_bar(const Points& known) const {
  const std::vector<std::vector<double>> points(known.begin(), known.end());
  const std::vector<std::size_t> ranks = front_ranks(points);
  std::vector<double> counts(points.size());
  for (const std::size_t rank : ranks) ++counts[rank];
  const double good = options_.keep * static_cast<double>(points.size()) - kRounding;
  std::size_t border = 0;
  for (double count = counts[0]; count < good; count += counts[border]) ++border;
  std::vector<std::vector<double>> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (ranks[i] == border) front.push_back(points[i]);
  }
  std::vector<double> bar;
  for (const std::vector<double>& point : thinned(std::move(front)))
    bar.insert(bar.end(), point.begin(), point.end());
  return bar;
}

std::size_t most_pruning_bytes(const PruningOptions& options, std::size_t objectives, std::size_t metrics) {
  constexpr std::size_t kStepBytes = 16;  // a step and the number of its values
  return options.at.size() * (kStepBytes + sizeof(double) * std::max(kMostBarPoints * objectives, metrics));
}

}  // namespace skyline::search

#include "report/files/trial_results.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

template <typename Range>
bool uses_metric(const Range& range, std::string_view metric) {
  return std::any_of(range.begin(), range.end(), [&](const auto& entry) { return entry.metric == metric; });
}

/// Removes numbers, since reasons that differ only in them ("at step 12") are counted together.
std::string without_numbers(const std::string& reason) {
  std::string text;
  for (const char letter : reason) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit) text += letter;
    if (digit && (text.empty() || text.back() != '#')) text += '#';
  }
  return text;
}

bool has_several_seeds(const SeedGroup& group) {
  std::set<std::uint64_t> seeds;
  for (const run::SharedTrial& training : group) seeds.insert(training->trial.seed);
  return seeds.size() > 1;
}

}  // namespace

std::string run_name(const store::RunPaths& paths) {
  std::filesystem::path root = paths.root.lexically_normal();
  if (!root.has_filename()) root = root.parent_path();  // the path may end with a slash
  return root.filename().string();
}

SourceTrials source_trials(const ConfigNode& config) {
  const ConfigNode* const search = config.is_map() ? config.find("search") : nullptr;
  const ConfigNode* const from = search == nullptr ? nullptr : search->find("from");
  if (from == nullptr || from->as_text().empty()) return {};
  SourceTrials source{run_name({from->as_text()}), {}};
  for (const ConfigNode& number : search->at("numbers").items()) {
    const auto trial = static_cast<trial::TrialNumber>(number.as_integer());
    source.numbers.insert(source.numbers.end(), static_cast<std::size_t>(search->at("seeds").as_integer()),
                          trial);
  }
  return source;
}

bool is_computed_metric(std::string_view metric, const std::vector<trial::Metric>& measured) {
  return trial::find_metric(measured, metric) == nullptr;
}

trial::Metric described(std::string_view metric, const std::vector<trial::Metric>& measured,
                        const std::vector<trial::Metric>& computed) {
  const auto* found = trial::find_metric(measured, metric);
  if (found == nullptr) found = trial::find_metric(computed, metric);
  return found != nullptr ? *found : trial::Metric{.name = std::string(metric), .computed = true};
}

const trial::Metric* test_metric(const objective::ObjectiveSet& objectives,
                                 const std::vector<trial::Metric>& metrics) {
  for (const objective::Objective& objective : objectives.objectives()) {
    const auto found = std::ranges::find(metrics, objective.metric, &trial::Metric::repeats);
    if (found != metrics.end()) return &*found;
  }
  const auto first = std::ranges::find(metrics, trial::Metric::Of::kTest, &trial::Metric::of);
  return first == metrics.end() ? nullptr : &*first;
}

std::optional<double> metric_value(const trial::CommittedTrial& committed, std::string_view metric,
                                   const std::vector<trial::Metric>& metrics) {
  if (is_computed_metric(metric, metrics)) {
    return objective::find_computed(committed.trial.architecture(), metric);
  }
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  const auto place = std::ranges::find(metrics, metric, &trial::Metric::name);
  if (measured == nullptr || place == metrics.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(place - metrics.begin());
  if (index >= measured->values.size() || std::isnan(measured->values[index])) return std::nullopt;
  return measured->values[index];
}

bool is_integer(double value) {
  return value == std::trunc(value) && std::abs(value) < 0x1p63;
}

std::string parameter_text(const space::SearchSpace& space, const space::Architecture& architecture,
                           std::size_t parameter, const std::string& unused) {
  if (!architecture.used[parameter]) return unused;
  return space::to_text(space.parameters()[parameter].values[architecture.genotype.choices[parameter]]);
}

std::vector<std::string> constraint_only_metrics(const objective::ObjectiveSet& objectives) {
  std::vector<std::string> names;
  for (const auto& constraint : objectives.constraints()) {
    const bool listed = std::find(names.begin(), names.end(), constraint.metric) != names.end();
    if (!listed && !uses_metric(objectives.objectives(), constraint.metric))
      names.push_back(constraint.metric);
  }
  return names;
}

std::vector<std::string> other_computed_metrics(const objective::ObjectiveSet& objectives) {
  std::vector<std::string> names = trial::names_of(objectives.computed());
  std::erase_if(names, [&](const std::string& name) {
    return uses_metric(objectives.objectives(), name) || uses_metric(objectives.constraints(), name);
  });
  return names;
}

const trial::Failure* failure_of(const trial::CommittedTrial& committed) {
  return std::get_if<trial::Failure>(&committed.outcome);
}

std::vector<FailureGroup> failure_groups(const std::vector<run::SharedTrial>& trials) {
  std::map<std::pair<trial::FailureKind, std::string>, FailureGroup> groups;
  for (const run::SharedTrial& trial : trials) {
    const trial::Failure* failure = failure_of(*trial);
    if (failure == nullptr) continue;
    FailureGroup& group = groups[{failure->kind, without_numbers(failure->reason)}];
    if (group.trials.empty()) group.failure = *failure;
    group.trials.push_back(trial->trial.name());
  }
  std::vector<FailureGroup> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  std::ranges::stable_sort(list, std::greater(),
                           [](const FailureGroup& group) { return group.trials.size(); });
  return list;
}

std::string usual_failure(const std::vector<run::SharedTrial>& trials) {
  const std::vector<FailureGroup> groups = failure_groups(trials);
  if (groups.empty()) return {};
  std::size_t failed = 0;
  for (const FailureGroup& group : groups) failed += group.trials.size();
  const auto& [failure, usual] = groups.front();
  return fmt::format("most often as {} ({} of {}): {}", trial::to_text(failure.kind), usual.size(), failed,
                     failure.reason);
}

std::vector<trial::TrialNumber> front_order(const search::ParetoArchive& front) {
  std::vector<std::size_t> positions(front.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, [&](std::size_t left, std::size_t right) {
    return std::ranges::lexicographical_compare(front.values_of(left), front.values_of(right));
  });
  std::vector<trial::TrialNumber> order;
  for (const std::size_t position : positions) order.push_back(front.keys()[position]);
  return order;
}

std::optional<std::uint64_t> samples_of(const trial::Baseline& baseline, bool is_full) {
  return is_full || !baseline.scored ? baseline.samples : baseline.scored;
}

std::vector<trial::TrialNumber> front_members(const run::RunState& state) {
  std::vector<trial::TrialNumber> members = front_order(state.final_front());
  for (const trial::TrialNumber number : front_order(state.front())) {
    if (!state.on_final_front(number)) members.push_back(number);
  }
  return members;
}

std::vector<std::vector<trial::TrialNumber>> equal_networks(const space::SearchSpace& space,
                                                            const run::RunState& state) {
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<trial::TrialNumber>> groups;
  if (space.missing_kind()) return groups;
  for (const trial::TrialNumber number : front_members(state)) {
    const run::SharedTrial searched = state.search_trial(number);
    const space::Architecture& architecture = searched->trial.architecture();
    if (!architecture.has_network() || architecture.training().empty()) return groups;
    const auto [place, is_new] = places.try_emplace(architecture.network().canonical_text(), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(number);
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

std::vector<std::string> judged_metrics(const objective::ObjectiveSet& objectives,
                                        const std::vector<trial::Metric>& metrics) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& objective : objectives.objectives()) add(objective.metric);
  for (const std::string& metric : constraint_only_metrics(objectives)) add(metric);
  for (const trial::Metric& metric : metrics) {
    if (metric.of == trial::Metric::Of::kTest) add(metric.name);
  }
  return names;
}

run::SharedTrial final_of(const run::RunState& state, trial::TrialNumber number) {
  run::SharedTrial latest;
  for (const run::SharedTrial& training : state.full_trainings(number)) {
    if (training->trial.proposal.final_repeat == 0) latest = training;
  }
  return latest;
}

std::vector<SeedGroup> seed_groups(const ReportInputs& inputs) {
  const run::RunState& state = inputs.state;
  if (!state.final_budget()) return {};
  std::map<space::ArchId, std::size_t> places;
  std::vector<SeedGroup> groups;
  for (const run::SharedTrial& committed : state.trials()) {
    const trial::Trial& trial = committed->trial;
    if (!trial.is_final() || trial.budget() != state.final_budget()) continue;
    if (trial.proposal.final_repeat > 0) continue;
    const auto [place, is_new] = places.try_emplace(committed->trial.architecture().id, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(committed);
  }
  std::erase_if(groups, [](const SeedGroup& group) { return !has_several_seeds(group); });
  const objective::Objective& first = state.objectives().objectives().front();
  const double sign = first.sense == objective::Sense::kMinimize ? 1 : -1;
  std::ranges::stable_sort(groups, {}, [&](const SeedGroup& group) {
    const auto spread = spread_of(group, first.metric, inputs.metrics);
    return spread ? sign * spread->mean : INFINITY;
  });
  return groups;
}

std::optional<Spread> spread_of(const SeedGroup& group, const std::string& metric,
                                const std::vector<trial::Metric>& metrics) {
  Spread spread;
  double squares = 0;  // sum of squared distances from the mean
  for (const run::SharedTrial& training : group) {
    const auto value = metric_value(*training, metric, metrics);
    if (!value || std::isnan(*value)) continue;
    const double from_mean = *value - spread.mean;
    spread.mean += from_mean / static_cast<double>(++spread.count);
    squares += from_mean * (*value - spread.mean);
  }
  if (spread.count == 0) return std::nullopt;
  if (spread.count > 1) spread.deviation = std::sqrt(squares / static_cast<double>(spread.count - 1));
  return spread;
}

}  // namespace skyline::report

#include "core/text/foreign_text.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/progress.hpp"
#include "report/text/text_table.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace skyline::report {
namespace {

constexpr std::string_view kSeparator = " · ";
constexpr std::size_t kMostOfCommit =
    150;  // characters of a commit's line; parameters are left out to keep to it
constexpr std::size_t kLeastOfParameters = 20;  // characters that remain for them

/// Returns "validation_accuracy=0.9712 flops=1.2M " for a commit's line: the objectives, and in full
/// trainings what was measured on the test set, then the other measured metrics as far as they fit.
std::string values_text(const trial::CommittedTrial& committed, const objective::ObjectiveSet& objectives,
                        const std::vector<trial::Metric>& metrics, std::size_t most) {
  std::vector<std::string> names;
  for (const auto& objective : objectives.objectives()) names.push_back(objective.metric);
  std::size_t needed = names.size();
  for (const bool of_test : {true, false}) {
    for (const trial::Metric& metric : metrics) {
      if (!committed.trial.is_final() || (metric.of == trial::Metric::Of::kTest) != of_test) continue;
      if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
    }
    if (of_test) needed = names.size();
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = metric_value(committed, names[i], metrics);
    if (!value) continue;
    const std::string part = fmt::format(
        "{}={} ", names[i], metric_text(described(names[i], metrics, objectives.computed()), *value, ""));
    if (i < needed || text.size() + part.size() <= most) text += part;
  }
  return text;
}

/// Returns "depth=3 width=16" for some parameters, or as many of them as `most` characters hold and "+14
/// more".
std::string parameters_text(const space::SearchSpace& space, const space::Architecture& architecture,
                            const std::vector<std::size_t>& parameters, std::size_t most) {
  const auto written = [&](std::size_t count, const std::string& end) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back(space.parameters()[parameters[i]].name + "=" +
                      parameter_text(space, architecture, parameters[i], ""));
    }
    if (!end.empty()) parts.push_back(end);
    return fmt::format("{}", fmt::join(parts, " "));
  };
  std::string text = written(parameters.size(), "");
  for (std::size_t count = parameters.size(); text.size() > most && count > 0;) {
    --count;
    text = written(count, fmt::format("+{} more", parameters.size() - count));
  }
  return text;
}

/// Returns the parameters that an architecture uses and in which it differs from another one.
std::vector<std::size_t> differences(const space::Architecture& from, const space::Architecture* other) {
  std::vector<std::size_t> found;
  for (std::size_t p = 0; p < from.used.size(); ++p) {
    const bool same =
        other != nullptr && other->used[p] && other->genotype.choices[p] == from.genotype.choices[p];
    if (from.used[p] && !same) found.push_back(p);
  }
  return found;
}

/// Returns the parameters of a trial in at most `most` characters: all, or what differs from the nearest
/// parent, or the first ones. A training of the network of an earlier trial need not repeat them.
std::string what_text(const trial::Trial& trial, const run::RunState& state, const space::SearchSpace& space,
                      std::size_t most) {
  const space::Architecture& architecture = trial.architecture();
  std::vector<std::size_t> named = differences(architecture, nullptr);
  const std::string all = parameters_text(space, architecture, named, std::string::npos);
  if (all.size() <= most) return all;
  if (trial.is_final() || trial.continues() != nullptr) return "";
  std::string beginning;
  for (const trial::TrialNumber parent : trial.proposal.parents) {
    const run::SharedTrial other = state.search_trial(parent);
    std::vector<std::size_t> from_it = differences(architecture, &other->trial.architecture());
    if (from_it.size() >= named.size()) continue;
    named = std::move(from_it);
    beginning = fmt::format("as trial {} but ", parent);
  }
  most -= std::min(most, beginning.size());
  return beginning + parameters_text(space, architecture, named, most);
}

/// Returns " (repeat 2 of 51)" or " (on from 7)" of a trial that an earlier one led to; else nothing.
std::string origin_text(const trial::Trial& trial, const run::RunState& state) {
  if (const trial::Continue* const earlier = trial.continues())
    return fmt::format(" (on from {})", earlier->from);
  if (trial.is_final() || state.repeats() == 1 || trial.proposal.repeat == 0) return {};
  return fmt::format(" (repeat {} of {})", trial.proposal.repeat, state.first_repeat(trial));
}

/// Returns whether a training is on the front; a repeat is if its architecture is, by the mean.
bool is_on_front(const trial::Trial& trial, const run::RunState& state) {
  return trial.is_final() ? state.on_its_front(trial) : state.on_front(state.first_repeat(trial));
}

}  // namespace

std::string progress_line(const RunStatus& status, const std::vector<trial::Metric>& metrics) {
  std::string line = fmt::format("{} {}/{} trials", status.phase, status.done, status.expected);
  const auto add = [&](const std::string& part) { line.append(kSeparator).append(part); };
  if (status.state == "stopping") add("stopping: saving running trials");
  if (const std::string under_way = status.in_flight_text(); !under_way.empty()) add(under_way);
  if (status.failed > 0) add(fmt::format("{} failed", status.failed));
  if (status.pruned > 0) add(fmt::format("{} pruned", status.pruned));
  if (status.outside > 0) add(fmt::format("{} outside", status.outside));
  if (status.front > 0) add(fmt::format("front {}", status.front));
  if (!status.best.empty()) {
    const BestValue& best = status.best.front();
    add(fmt::format("best {} {}", best.metric, metric_text(described(best.metric, metrics), best.value)));
  }
  add(duration_text(status.elapsed_s) + " elapsed");
  if (status.eta_s) add("ETA " + duration_text(*status.eta_s));
  return line;
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size() && used < columns; ++used) {
    do ++end;
    while (end < text.size() && continues_character(text[end]));
  }
  return std::string(text.substr(0, end));
}

std::string commit_line(const trial::CommittedTrial& committed, const run::RunState& state,
                        const space::SearchSpace& space, const std::vector<trial::Metric>& metrics,
                        const std::string& host) {
  const trial::Trial& trial = committed.trial;
  const trial::TrialTiming& timing = committed.timing;
  const std::string where = fmt::format("rank {}{} slot {} {:.2f} s", timing.rank,
                                        host.empty() ? "" : " " + host, timing.slot, timing.total_s());
  const trial::Failure* const failure = failure_of(committed);
  const std::uint32_t repeat = trial.proposal.final_repeat;
  const std::string kind = trial::is_refit(trial) ? "refit of trial"
                           : repeat > 0           ? fmt::format("repeat {} of final trial", repeat)
                           : trial.is_final()     ? "final trial"
                                                  : "trial";
  const std::string name =
      fmt::format("{} {}{} {}: ", kind, trial.number, origin_text(trial, state),
                  failure != nullptr                   ? "failed"
                  : trial::is_whole(committed.outcome) ? "committed"
                                                       : trial::status_of(committed.outcome));
  const bool is_outside = trial::is_outside(committed.outcome);
  const std::string reason = trial::reason_of(committed.outcome);
  std::string result = is_outside ? fmt::format("{} {}", reason, where)
                       : failure != nullptr
                           ? fmt::format("{}: {} {}", trial::to_text(failure->kind), reason, where)
                           : fmt::format("front={} {}", is_on_front(trial, state) ? "yes" : "no", where);
  const auto room = [&] { return kMostOfCommit - std::min(kMostOfCommit, name.size() + result.size()); };
  if (failure == nullptr && !is_outside)
    result = values_text(committed, state.objectives_of(trial), metrics, room()) + result;
  const std::string what = what_text(trial, state, space, std::max(room(), kLeastOfParameters + 1) - 1);
  return name + what + (what.empty() ? "" : " ") + result;
}

}  // namespace skyline::report

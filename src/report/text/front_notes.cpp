// The notes below the table of the front.
#include "core/text/wording.hpp"
#include "report/files/shares.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr std::size_t kMostNamed = 8;  // trials in a line

/// Returns the front that counts, and whether it is that of full trainings.
std::vector<trial::TrialNumber> front_that_counts(const run::RunState& state) {
  return front_order(state.final_budget() ? state.final_front() : state.front());
}

run::SharedTrial training_that_counts(const run::RunState& state, trial::TrialNumber number) {
  return state.final_budget() ? state.final_mean(number) : state.search_mean(number);
}

/// Joins the first of some texts and counts the rest.
std::string first_of(std::vector<std::string> texts) {
  const std::size_t more = texts.size() - std::min(texts.size(), kMostNamed);
  texts.resize(texts.size() - more);
  return joined(texts) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

/// How often the members of a front were trained.
struct Repeats {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t most = 0;
  std::vector<std::string> failures = {};

  void add(trial::TrialNumber number, const std::vector<run::SharedTrial>& repeats) {
    if (repeats.empty()) return;
    least = std::min(least, repeats.size());
    most = std::max(most, repeats.size());
    const auto failed =
        std::ranges::count_if(repeats, [](const auto& each) { return failure_of(*each) != nullptr; });
    if (failed > 0) failures.push_back(fmt::format("{} of trial {}", failed, number));
  }
  /// @param what  was repeated
  std::string text(std::string_view what) const {
    const std::string count = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
    return fmt::format("{}: means of {} repeats, with their standard deviation{}.\n", what, count,
                       failures.empty() ? "" : "; failed and in no mean: " + first_of(failures));
  }
};

/// Says of how many trials the values of the search's front are the means. Empty without repeats.
std::string search_repeats_note(const run::RunState& state) {
  if (state.repeats() == 1 || state.front().size() == 0) return {};
  Repeats found;
  for (const trial::TrialNumber number : state.front().keys())
    found.add(number, state.search_repeats(number));
  return found.text("Trials of the front");
}

/// Says of how many trainings the values are the means. Empty without full trainings.
std::string repeats_note(const run::RunState& state) {
  Repeats found;
  for (const trial::TrialNumber number : front_members(state)) found.add(number, state.final_repeats(number));
  if (found.most == 0) return {};
  if (found.most == 1)
    return "Full trainings were not repeated, so no deviation is known (`final.repeats: 3` would tell it).\n";
  return found.text("Full trainings");
}

/// Returns the judged metrics that have a yardstick: the objectives first.
std::vector<const trial::Yardstick*> yardsticks_shown(const ReportInputs& inputs) {
  std::vector<const trial::Yardstick*> shown;
  for (const std::string& metric : judged_metrics(inputs.state.final_objectives(), inputs.metrics)) {
    if (const auto* found = trial::find_yardstick(inputs.yardsticks, metric)) shown.push_back(found);
  }
  return shown;
}

struct MemberValue {
  trial::TrialNumber number = 0;
  double value = 0;
};

/// Returns the values of a metric on the front, the best first.
std::vector<MemberValue> values_on_front(const ReportInputs& inputs, const std::string& metric) {
  std::vector<MemberValue> values;
  for (const trial::TrialNumber number : front_that_counts(inputs.state)) {
    const auto value = metric_value(*training_that_counts(inputs.state, number), metric, inputs.metrics);
    if (value) values.push_back({number, *value});
  }
  const double sign = described(metric, inputs.metrics).better == trial::Better::kHigher ? -1 : 1;
  std::ranges::stable_sort(values, {}, [sign](const MemberValue& each) { return sign * each.value; });
  return values;
}

/// Returns those of the other members that the samples do not tell apart from the best one.
std::vector<MemberValue> alike(const std::vector<MemberValue>& values, std::uint64_t samples) {
  std::vector<MemberValue> found;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (!are_shares_apart(values.front().value, values[i].value, samples)) found.push_back(values[i]);
  }
  return found;
}

/// Says how far the samples decide a share, and which members they do not tell apart from the best.
std::string samples_note(const ReportInputs& inputs, const trial::Yardstick& yardstick) {
  const auto samples = samples_of(yardstick, inputs.state.final_budget().has_value());
  const std::vector<MemberValue> values = values_on_front(inputs, yardstick.metric);
  if (!samples || values.empty()) return {};
  const MemberValue& best = values.front();
  const Interval interval = wilson_interval(best.value, *samples);
  std::vector<std::string> others;
  for (const MemberValue& other : alike(values, *samples)) {
    const std::string difference =
        fmt::format("{:.3g}", std::abs(best.value - other.value) * static_cast<double>(*samples));
    others.push_back(
        fmt::format("{} (by {} sample{})", other.number, difference, difference == "1" ? "" : "s"));
  }
  return fmt::format("{} of {}: trial {} has {:.4f}, {:.4f} to {:.4f} at 95 %{}.\n", yardstick.metric,
                     counted(*samples, "sample"), best.number, best.value, interval.low, interval.high,
                     others.empty() ? "" : "; they do not tell it apart from trial " + first_of(others));
}

/// Returns the yardstick of the first objective that has one: that of its test twin, where full trainings
/// have it.
const trial::Yardstick* deciding_yardstick(const ReportInputs& inputs) {
  for (const objective::Objective& objective : inputs.state.objectives().objectives()) {
    const auto twin = std::ranges::find(inputs.metrics, objective.metric, &trial::Metric::repeats);
    if (inputs.state.final_budget() && twin != inputs.metrics.end()) {
      if (const auto* found = trial::find_yardstick(inputs.yardsticks, twin->name)) return found;
    }
    if (const auto* found = trial::find_yardstick(inputs.yardsticks, objective.metric)) return found;
  }
  return nullptr;
}

/// Names the best member, if it is no better than a constant answer as far as the samples can tell.
std::string constant_warning(const ReportInputs& inputs) {
  const trial::Yardstick* yardstick = deciding_yardstick(inputs);
  if (yardstick == nullptr || !yardstick->constant) return {};
  const trial::Metric metric = described(yardstick->metric, inputs.metrics);
  const std::vector<MemberValue> values = values_on_front(inputs, metric.name);
  if (values.empty()) return {};
  const double best = values.front().value;
  const bool is_better =
      metric.better == trial::Better::kHigher ? best > *yardstick->constant : best < *yardstick->constant;
  const auto samples = samples_of(*yardstick, inputs.state.final_budget().has_value());
  if (is_better && (!samples || wilson_interval(best, *samples).low > *yardstick->constant)) return {};
  return fmt::format(
      "Warning: trial {}, the best of the front, is no better than a constant answer{}: {} {} beside {}.\n",
      values.front().number,
      is_better ? fmt::format(" as far as {} can tell", counted(*samples, "sample")) : "", metric.name,
      metric_text(metric, best), metric_text(metric, *yardstick->constant));
}

/// Says what a model that always says the same would have, and names a winner that is no better.
std::string constant_note(const ReportInputs& inputs) {
  std::vector<std::string> texts;
  for (const trial::Yardstick* yardstick : yardsticks_shown(inputs)) {
    if (!yardstick->constant) continue;
    const trial::Metric metric = described(yardstick->metric, inputs.metrics);
    texts.push_back(metric.name + " " + metric_text(metric, *yardstick->constant));
  }
  if (texts.empty()) return {};
  return "A model that always gives the same answer (the commonest class, or the mean) has " + joined(texts) +
         ".\n" + constant_warning(inputs);
}

/// Names the rows whose networks are the same, because only their training values differ.
std::string networks_note(const ReportInputs& inputs) {
  std::vector<std::string> groups;
  for (const std::vector<trial::TrialNumber>& group : equal_networks(inputs.space, inputs.state)) {
    std::vector<std::string> numbers;
    for (const trial::TrialNumber number : group) numbers.push_back(std::to_string(number));
    groups.push_back(joined(numbers, " = "));
  }
  if (groups.empty()) return {};
  return "The same network with other training values: trials " + first_of(groups) + ".\n";
}

/// Says how fast the networks were when nothing trained, and how far the rounds differ.
std::string latency_note(const std::vector<FrontLatency>& latencies) {
  if (latencies.empty()) return {};
  std::vector<std::string> texts;
  double spread = 0;  // the largest ratio of a network's slowest round to its fastest, minus 1
  for (const FrontLatency& each : latencies) {
    spread = std::max(spread, std::ranges::max(each.rounds_ms) / each.least_ms() - 1);
    texts.push_back(fmt::format("{} ({:.4g} ms)", each.trial, each.least_ms()));
  }
  const std::size_t rounds = latencies.front().rounds_ms.size();
  const std::string sure = rounds == 1
                               ? "measured once"
                               : fmt::format("{} rounds differ by at most {:.0f} %", rounds, 100 * spread);
  return fmt::format("Latency measured again after the search, one network at a time: trials {}; {}.\n",
                     first_of(std::move(texts)), sure);
}

}  // namespace

std::vector<trial::TrialNumber> alike_to_best(const ReportInputs& inputs) {
  const std::string& metric = inputs.state.final_objectives().objectives().front().metric;
  const trial::Yardstick* yardstick = trial::find_yardstick(inputs.yardsticks, metric);
  const auto samples =
      yardstick != nullptr ? samples_of(*yardstick, inputs.state.final_budget().has_value()) : std::nullopt;
  std::vector<trial::TrialNumber> numbers;
  if (!samples) return numbers;
  for (const MemberValue& member : alike(values_on_front(inputs, metric), *samples))
    numbers.push_back(member.number);
  return numbers;
}

std::string front_notes(const ReportInputs& inputs) {
  if (front_members(inputs.state).empty()) return {};
  const bool is_train = !inputs.taken.run.empty();  // `skyline train` has --seeds in place of repeats
  std::string notes = search_repeats_note(inputs.state) + (is_train ? "" : repeats_note(inputs.state));
  for (const trial::Yardstick* yardstick : yardsticks_shown(inputs))
    notes += samples_note(inputs, *yardstick);
  return notes + latency_note(inputs.latencies) + constant_note(inputs) + networks_note(inputs);
}

}  // namespace skyline::report

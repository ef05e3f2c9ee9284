// The footnotes below the table of the front.
#include "core/text/wording.hpp"
#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"
#include "search/model/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr std::size_t kMostNamed = 8;         // trials in a line
constexpr std::size_t kFewestExpecting = 20;  // results that a model needs to tell luck

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
std::string search_repeats_footnote(const run::RunState& state) {
  if (state.repeats() == 1 || state.front().size() == 0) return {};
  Repeats found;
  for (const trial::TrialNumber number : state.front().keys())
    found.add(number, state.search_repeats(number));
  return found.text("Trials of the front");
}

/// Says of how many trainings the values are the means. Empty without full trainings.
std::string repeats_footnote(const run::RunState& state) {
  Repeats found;
  for (const trial::TrialNumber number : front_members(state)) found.add(number, state.final_repeats(number));
  if (found.most == 0) return {};
  if (found.most == 1)
    return "Full trainings were not repeated, so no deviation is known (`final.repeats: 3` would tell it).\n";
  return found.text("Full trainings");
}

/// Says whose weights are the model where there are refits.
std::string refit_footnote(const run::RunState& state) {
  std::size_t refits = 0;
  for (const trial::TrialNumber number : state.final_front().keys()) {
    const run::SharedTrial refit = state.refit_of(number);
    if (refit != nullptr && failure_of(*refit) == nullptr) ++refits;
  }
  if (refits == 0) return {};
  const std::size_t all = state.final_front().size();
  return fmt::format(
      "Refit: {} of the final front {} trained once more, on training and validation samples; "
      "export and predict take these weights, and nothing is chosen by them.\n",
      refits == all ? "all" : fmt::format("{} of {}", refits, all), refits == 1 && all > 1 ? "was" : "were");
}

/// Returns the judged metrics that have a baseline: the objectives first.
std::vector<const trial::Baseline*> baselines_shown(const ReportInputs& inputs) {
  std::vector<const trial::Baseline*> shown;
  for (const std::string& metric : judged_metrics(inputs.state.final_objectives(), inputs.metrics)) {
    if (const auto* found = trial::find_baseline(inputs.baselines, metric)) shown.push_back(found);
  }
  return shown;
}

struct MemberValue {
  run::SharedTrial result;  // result that the front compares
  double value = 0;

  trial::TrialNumber number() const { return result->trial.number; }
};

/// Returns the values of a metric on the front, the best first.
std::vector<MemberValue> values_on_front(const ReportInputs& inputs, const std::string& metric) {
  std::vector<MemberValue> values;
  for (const trial::TrialNumber number : front_that_counts(inputs.state)) {
    run::SharedTrial result = training_that_counts(inputs.state, number);
    const auto value = metric_value(*result, metric, inputs.metrics);
    if (value) values.push_back({std::move(result), *value});
  }
  const double sign =
      described(metric, inputs.metrics, inputs.state.objectives().computed()).better == trial::Better::kHigher
          ? -1
          : 1;
  std::ranges::stable_sort(values, {}, [sign](const MemberValue& each) { return sign * each.value; });
  return values;
}

/// Returns those of the other members that the samples do not tell apart from the best one.
/// @pre they bound the values
std::vector<MemberValue> alike(const ReportInputs& inputs, const std::vector<MemberValue>& values,
                               const std::string& metric) {
  std::vector<MemberValue> found;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (!sample_bound(inputs, *values[i].result, metric)) continue;
    if (!are_apart(inputs, *values.front().result, *values[i].result, metric)) found.push_back(values[i]);
  }
  return found;
}

/// Says how far the samples decide a metric, and which members they do not tell apart from the best.
std::string samples_footnote(const ReportInputs& inputs, const trial::Baseline& baseline) {
  const std::vector<MemberValue> values = values_on_front(inputs, baseline.metric);
  if (values.empty()) return {};
  const MemberValue& best = values.front();
  const auto bound = sample_bound(inputs, *best.result, baseline.metric);
  if (!bound) return {};
  const bool is_share = baseline.samples.has_value();
  const trial::Metric metric = described(baseline.metric, inputs.metrics);
  const auto text = [&](double value) {
    return is_share ? fmt::format("{:.4f}", value) : metric_text(metric, value);
  };
  std::vector<std::string> others;
  for (const MemberValue& other : alike(inputs, values, baseline.metric)) {
    const double gap = std::abs(best.value - other.value);
    const std::string difference =
        fmt::format("{:.3g}", is_share ? gap * static_cast<double>(bound->samples) : gap);
    const std::string unit = !is_share ? "" : difference == "1" ? " sample" : " samples";
    others.push_back(fmt::format("{} (by {}{})", other.number(), difference, unit));
  }
  return fmt::format("{} of {}: trial {} has {}, {} to {} at 95 %{}.\n", baseline.metric,
                     counted(bound->samples, "sample"), best.number(), text(best.value),
                     text(bound->interval.low), text(bound->interval.high),
                     others.empty() ? "" : "; they do not tell it apart from trial " + first_of(others));
}

/// Says what a model of all results expects of the best one of the search, where no full training has told.
std::string expectation_footnote(const ReportInputs& inputs) {
  const run::RunState& state = inputs.state;
  const auto& objectives = state.objectives().objectives();
  const auto measured = std::ranges::find(objectives, false, &objective::Objective::computed);
  if (!inputs.may_be_lucky || state.final_budget() || state.repeats() > 1 || measured == objectives.end())
    return {};
  const std::vector<MemberValue> values = values_on_front(inputs, measured->metric);
  if (values.empty()) return {};
  const MemberValue& best = values.front();
  std::vector<run::SharedTrial> results;
  for (const run::SharedTrial& each : state.trials()) {
    if (state.objectives().minimized(*each) && each->trial.budget() == best.result->trial.budget())
      results.push_back(each);
  }
  if (results.size() < kFewestExpecting) return {};
  const auto expected = search::expectation(inputs.space, state.objectives(), results, best.number());
  const bool is_higher = measured->sense == objective::Sense::kMaximize;
  if (!expected || (is_higher ? expected->value >= best.value : expected->value <= best.value)) return {};
  const trial::Metric metric = described(measured->metric, inputs.metrics);
  return fmt::format(
      "{}: trial {} has {}, and a model of all results expects {} of it, {} to {}: if results differ "
      "by their seeds, the best one is mostly a lucky one.\n",
      metric.name, best.number(), metric_text(metric, best.value), metric_text(metric, expected->value),
      metric_text(metric, expected->low), metric_text(metric, expected->high));
}

/// Returns the baseline of the first objective that has one: that of its test twin, where full trainings
/// have it.
const trial::Baseline* deciding_baseline(const ReportInputs& inputs) {
  for (const objective::Objective& objective : inputs.state.objectives().objectives()) {
    const auto twin = std::ranges::find(inputs.metrics, objective.metric, &trial::Metric::repeats);
    if (inputs.state.final_budget() && twin != inputs.metrics.end()) {
      if (const auto* found = trial::find_baseline(inputs.baselines, twin->name)) return found;
    }
    if (const auto* found = trial::find_baseline(inputs.baselines, objective.metric)) return found;
  }
  return nullptr;
}

/// Names the best member, if it is no better than a constant answer as far as the samples can tell.
std::string constant_warning(const ReportInputs& inputs) {
  const trial::Baseline* baseline = deciding_baseline(inputs);
  if (baseline == nullptr || !baseline->constant) return {};
  const trial::Metric metric = described(baseline->metric, inputs.metrics);
  const std::vector<MemberValue> values = values_on_front(inputs, metric.name);
  if (values.empty()) return {};
  const double best = values.front().value;
  const auto is_better_than_constant = [&](double value) {
    return metric.better == trial::Better::kHigher ? value > *baseline->constant
                                                   : value < *baseline->constant;
  };
  const bool is_better = is_better_than_constant(best);
  const auto bound = sample_bound(inputs, *values.front().result, metric.name);
  const bool is_surely_better = !bound || (is_better_than_constant(bound->interval.low) &&
                                           is_better_than_constant(bound->interval.high));
  if (is_better && is_surely_better) return {};
  return fmt::format(
      "Warning: trial {}, the best of the front, is no better than a constant answer{}: {} {} beside {}.\n",
      values.front().number(),
      is_better ? fmt::format(" as far as {} can tell", counted(bound->samples, "sample")) : "", metric.name,
      metric_text(metric, best), metric_text(metric, *baseline->constant));
}

/// Says what a model that always says the same would have, and names a winner that is no better.
std::string constant_footnote(const ReportInputs& inputs) {
  std::vector<std::string> texts;
  for (const trial::Baseline* baseline : baselines_shown(inputs)) {
    if (!baseline->constant) continue;
    const trial::Metric metric = described(baseline->metric, inputs.metrics);
    texts.push_back(metric.name + " " + metric_text(metric, *baseline->constant));
  }
  if (texts.empty()) return {};
  return "A model that always gives the same answer (the commonest class, or the mean) has " + joined(texts) +
         ".\n" + constant_warning(inputs);
}

/// Names the rows whose networks are the same, because only their training values differ.
std::string networks_footnote(const ReportInputs& inputs) {
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
std::string latency_footnote(const std::vector<FrontLatency>& latencies) {
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

std::vector<trial::TrialNumber> indistinguishable_from_best(const ReportInputs& inputs) {
  const std::string& metric = inputs.state.final_objectives().objectives().front().metric;
  const std::vector<MemberValue> values = values_on_front(inputs, metric);
  std::vector<trial::TrialNumber> numbers;
  if (values.empty() || !sample_bound(inputs, *values.front().result, metric)) return numbers;
  for (const MemberValue& member : alike(inputs, values, metric)) numbers.push_back(member.number());
  return numbers;
}

std::string front_footnotes(const ReportInputs& inputs) {
  if (front_members(inputs.state).empty()) return {};
  const bool is_train = !inputs.source.run.empty();  // `skyline train` has --seeds in place of repeats
  std::string footnotes = search_repeats_footnote(inputs.state) +
                          (is_train ? "" : repeats_footnote(inputs.state)) + refit_footnote(inputs.state) +
                          expectation_footnote(inputs);
  for (const trial::Baseline* baseline : baselines_shown(inputs))
    footnotes += samples_footnote(inputs, *baseline);
  return footnotes + latency_footnote(inputs.latencies) + constant_footnote(inputs) +
         networks_footnote(inputs);
}

}  // namespace skyline::report

#include "report/files/trial_results.hpp"
#include "report/text/progress.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr std::string_view kSeparator = " · ";

/// Returns the metrics in a commit's line: the objectives, and in full trainings all measured metrics.
std::vector<std::string> metrics_of_line(const trial::CommittedTrial& committed,
                                         const objective::ObjectiveSet& objectives,
                                         const std::vector<trial::Metric>& metrics) {
  std::vector<std::string> names;
  for (const auto& objective : objectives.objectives()) names.push_back(objective.metric);
  if (!committed.trial.is_final()) return names;
  for (const trial::Metric& metric : metrics) {
    if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
  }
  return names;
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

std::string progress_line(const RunStatus& status, const std::vector<trial::Metric>& metrics) {
  std::string line = fmt::format("{} {}/{} trials", status.phase, status.done, status.expected);
  const auto add = [&](const std::string& part) { line.append(kSeparator).append(part); };
  if (status.state == "stopping") add("stopping: saving running trials");
  if (status.in_flight > 0) add(fmt::format("{} in flight", status.in_flight));
  if (status.failed > 0) add(fmt::format("{} failed", status.failed));
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

std::string commit_line(const trial::CommittedTrial& committed, bool on_front,
                        const objective::ObjectiveSet& objectives, const space::SearchSpace& space,
                        const std::vector<trial::Metric>& metrics, const std::string& host) {
  const trial::Trial& trial = committed.trial;
  const trial::TrialTiming& timing = committed.timing;
  const std::string what = space.describe(trial.architecture().genotype);
  const std::string where = fmt::format("rank {}{} slot {} {:.2f} s", timing.rank,
                                        host.empty() ? "" : " " + host, timing.slot, timing.total_s());
  const std::string name = trial.is_final() ? "final trial" : "trial";
  if (const trial::Failure* failure = failure_of(committed)) {
    return fmt::format("{} {} failed: {} {}: {} {}", name, trial.number, what, trial::to_text(failure->kind),
                       failure->reason, where);
  }
  std::string values;
  for (const std::string& metric : metrics_of_line(committed, objectives, metrics)) {
    const auto value = metric_value(committed, metric, metrics);
    if (value) values += fmt::format(" {}={}", metric, metric_text(described(metric, metrics), *value, ""));
  }
  return fmt::format("{} {} committed: {}{} front={} {}", name, trial.number, what, values,
                     on_front ? "yes" : "no", where);
}

}  // namespace skyline::report

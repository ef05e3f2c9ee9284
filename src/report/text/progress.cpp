#include "report/text/progress.hpp"

#include "core/backoff.hpp"
#include "core/clock.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/text_table.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace skyline::report {
namespace {

constexpr double kDrawEvery_s = 0.1;
constexpr double kLogEvery_s = 30;
constexpr double kStatusEvery_s = 2;
// These bound the wait for a dead disk.
constexpr std::chrono::seconds kLastStatus{10};
constexpr std::chrono::seconds kStatusOfFailure{5};
constexpr std::size_t kRecentCommits = 5;
constexpr std::size_t kUsualColumns = 80;
constexpr std::string_view kEraseToEnd = "\x1b[K";

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

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

ProgressConsole system_console(bool terminal) {
  ProgressConsole console;
  console.now_s = [] { return SteadyClock().now_s(); };
  console.unix_s = unix_now_s;
  console.columns = terminal_columns;
  if (terminal) console.write = log::draw;
  return console;
}

Progress::Progress(const store::RunPaths& paths, const space::SearchSpace& space,
                   const std::vector<trial::Metric>& metrics, ProgressConsole console)
    : space_(space), metrics_(metrics), console_(std::move(console)), status_file_(paths.status_json()) {}

Progress::~Progress() {
  if (under_way_) end_with("failed");
}

/// Waits until the status is written, because the job's exit code is written after it into the same file.
void Progress::ended(RunEnd end) {
  if (end != RunEnd::kFailed) {
    end_with(end == RunEnd::kStopped ? "stopped" : "finished").wait_for(kLastStatus);
  } else if (under_way_) {
    end_with("failed").wait_for(kStatusOfFailure);
  }
}

std::future<void> Progress::end_with(const std::string& state) {
  under_way_ = false;
  status_.state = state;
  status_.in_flight = status_.waiting = 0;
  update_times();
  if (on_terminal()) {
    draw();
    console_.write("\n");
  }
  return status_file_.publish(status_);
}

void Progress::started(const run::RunState& state) {
  std::set<int> ranks;
  std::set<std::string> nodes;
  const std::vector<run::SlotAccount>& slots = state.account().slots();
  for (const run::SlotAccount& slot : slots) {
    ranks.insert(slot.rank);
    nodes.insert(slot.host);
  }
  under_way_ = true;
  status_.slots = slots.size();
  status_.ranks = ranks.size();
  status_.nodes = nodes.size();
  for (const run::SlotAccount& slot : slots) {
    if (nodes.size() > 1) hosts_[slot.rank] = slot.host;
  }
  start_s_ = console_.now_s();
}

void Progress::phase_begun(const run::RunState& state) {
  const bool searches = state.phase() == trial::Phase::kSearch;
  if (!searches) {
    update_times();
    status_.in_flight = status_.waiting = 0;
    status_.eta_s.reset();
    clear_line();
    log::info(progress_line(status_, metrics_));  // how the search ended
  }
  status_.phase = trial::to_text(state.phase());
  update(state);
  phase_start_s_ = last_commit_s_ = last_draw_s_ = console_.now_s();
  last_status_s_ = phase_start_s_ - kStatusEvery_s;  // makes the next tick write status.json
  done_here_ = 0;
  if (searches) {
    log::info(fmt::format("search of at most {} in {} on {}", counted(status_.expected, "trial"),
                          counted(status_.slots, "slot"), counted(status_.nodes, "node")));
  } else {
    log::info(fmt::format("{}: {}", status_.phase, counted(status_.expected, "trial")));
  }
}

void Progress::update(const run::RunState& state) {
  status_.done = state.done_in_phase();
  status_.expected = state.expected(state.phase());
  status_.committed = state.trials().size();
  status_.in_flight = state.in_flight();
  status_.waiting = state.waiting();
  status_.choosing = state.waits_for_choice();
  status_.failed = state.failed();
  status_.pruned = state.pruned();
  status_.outside = state.outside();
  status_.front = state.front().size();
  status_.replayed = state.replayed();
  status_.search_summary = state.search_summary();
  status_.best.clear();
  if (best_test_) status_.best.push_back(*best_test_);
  const auto& objectives = state.objectives().objectives();
  for (std::size_t i = 0; i < state.best().size(); ++i) {
    status_.best.push_back({objectives[i].metric, state.best()[i]});
  }
}

void Progress::keep_best_test(const trial::CommittedTrial& committed,
                              const objective::ObjectiveSet& objectives) {
  if (!committed.trial.is_final() || committed.trial.proposal.final_repeat > 0) return;
  const trial::Metric* test = test_metric(objectives, metrics_);
  const auto value = test != nullptr ? metric_value(committed, test->name, metrics_) : std::nullopt;
  if (!value) return;
  const bool higher = test->better == trial::Better::kHigher;
  const double best = best_test_ ? best_test_->value : *value;
  best_test_ = BestValue{test->name, higher ? std::max(best, *value) : std::min(best, *value)};
}

void Progress::committed(const run::Commit& commit, const run::RunState& state) {
  const trial::CommittedTrial& committed = *commit.trial;
  keep_best_test(committed, state.objectives());
  update(state);
  last_commit_s_ = console_.now_s();
  if (commit.replayed) {
    phase_start_s_ = last_commit_s_;
    return;
  }
  ++done_here_;
  const auto host = hosts_.find(committed.timing.rank);
  std::string line =
      commit_line(committed, state, space_, metrics_, host == hosts_.end() ? "" : host->second);
  // The terminal shows only the progress line; the log file gets debug lines as well.
  log::write(on_terminal() ? log::Level::kDebug : log::Level::kInfo, line);
  status_.recent.push_back(std::move(line));
  if (status_.recent.size() > kRecentCommits) status_.recent.erase(status_.recent.begin());
}

void Progress::stopping() {
  status_.state = "stopping";
  last_status_s_ = console_.now_s() - kStatusEvery_s;  // makes the next tick write status.json
  clear_line();
  log::info("stopping: running trials save their state");
}

void Progress::update_times() {
  const double now = console_.now_s();
  status_.elapsed_s = now - start_s_;
  status_.updated = console_.unix_s();
  status_.eta_s.reset();
  const bool going_on = status_.state == "running";
  if (!going_on || done_here_ == 0 || status_.done > status_.expected) return;
  // The pace is that of the last commit, so that the time left runs down between commits. Where the next one
  // is overdue, the pace is as if it came now.
  double pace_s = (last_commit_s_ - phase_start_s_) / static_cast<double>(done_here_);
  double waited_s = now - last_commit_s_;
  if (waited_s > pace_s) waited_s = pace_s = (now - phase_start_s_) / static_cast<double>(done_here_ + 1);
  const double left_s = pace_s * static_cast<double>(status_.expected - status_.done) - waited_s;
  if (left_s >= 1) status_.eta_s = left_s;  // the last trial has no known end once it is overdue
}

void Progress::tick(const run::RunState& state) {
  const double now = console_.now_s();
  const bool due = now - last_draw_s_ >= (on_terminal() ? kDrawEvery_s : kLogEvery_s);
  const bool status_due = now - last_status_s_ >= kStatusEvery_s;
  if (!under_way_ || !(due || status_due)) return;
  update(state);
  update_times();
  if (due && on_terminal()) draw();
  if (due && !on_terminal()) log::info(progress_line(status_, metrics_));
  if (due) last_draw_s_ = now;
  if (status_due && status_file_.offer(status_)) last_status_s_ = now;
}

void Progress::draw() {
  const std::size_t columns = console_.columns();
  // One column stays free, because many terminals wrap when the last one is written.
  std::string line =
      cut_to_columns(progress_line(status_, metrics_), columns - std::min<std::size_t>(columns, 1));
  if (line == drawn_) return;
  console_.write(fmt::format("\r{}{}", line, kEraseToEnd));
  drawn_ = std::move(line);
}

void Progress::clear_line() {
  if (drawn_.empty()) return;
  console_.write(fmt::format("\r{}", kEraseToEnd));
  drawn_.clear();
}

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

#include "evaluate/command/metric_commands.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/command/process_group.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using trial::Failure;
using trial::FailureKind;

fs::path folder_of_turns(const fs::path& run) {
  return store::RunPaths{run}.trainer() / "turns";
}

/// Locks a file, and makes it if need be. Returns null if somebody else has the lock.
FileDescriptor try_lock(const fs::path& path) {
  store::make_own_folder(path.parent_path());
  FileDescriptor file = store::open_own(path, O_RDWR | O_CREAT, 0600);
  const store::IoOperation operation("lock", path);
  int failed = 0;
  while ((failed = ::flock(file.get(), LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) continue;
  if (failed == 0) return file;
  if (errno == EWOULDBLOCK) return {};
  throw FaultError("cannot lock " + path.string() + ": " + system_error_text(errno));
}

constexpr milliseconds kFirstLookForTurn(20);
constexpr milliseconds kLooksForTurn(250);
constexpr double kMeasuringGrace_s = 5;
constexpr double kNoisy = 0.5;  // distance of the ends that is warned of, as a share of the median
// Placeholders whose values differ between a search trial and its full training.
constexpr std::array kOfTraining = {"epochs", "horizon", "seed"};
constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

bool has_metric(const trial::Trial& trial, const CommandMetric& metric) {
  return trial.is_final() || metric.when == trial::Metric::When::kEveryTrial;
}

/// Returns a name as part of a file's name.
std::string file_name_of(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0 && letter != '-'; }, '_');
  return name;
}

/// Tells all members that the trial is stopped.
Failure stopped_for_all(trial::EvaluationContext& context) {
  const Failure stopped{FailureKind::kStopped, "stopped on request"};
  if (context.group() != nullptr) context.group()->abort(stopped);
  return stopped;
}

bool must_stop(trial::EvaluationContext& context) {
  if (context.group() != nullptr) context.group()->check();
  return context.control().stop_requested();
}

/// Waits for a turn. Returns null if the trial must stop before.
FileDescriptor acquire(const MeasurementSemaphore& turns, trial::EvaluationContext& context) {
  const trial::TrialWait wait(context);
  Backoff pause(kFirstLookForTurn, kLooksForTurn);
  while (!must_stop(context)) {
    if (FileDescriptor turn = turns.try_acquire()) return turn;
    pause.pause();
  }
  return {};
}

}  // namespace

MeasurementSemaphore::MeasurementSemaphore(const fs::path& run, const std::string& name, std::uint32_t count)
    : first_(folder_of_turns(run) / to_hex(stable_hash64(name))), count_(count) {}

FileDescriptor MeasurementSemaphore::try_acquire() const {
  for (std::uint32_t turn = 0; turn < count_; ++turn) {
    fs::path path = first_;
    path += "." + std::to_string(turn);
    if (FileDescriptor taken = try_lock(path)) return taken;
  }
  return {};
}

void check_locks(Ranks& ranks, const fs::path& run, const std::string& host) {
  const fs::path path = folder_of_turns(run) / "probe";
  FileDescriptor taken;  // lock that rank 0 holds until all have tried
  std::string problem;
  const auto attempt = [&](bool should_get) {
    try {
      taken = try_lock(path);
      if (!taken && should_get) problem = "somebody else holds the lock " + path.string();
      if (taken && !should_get) {
        problem =
            "a lock on " + path.string() + " that rank 0 has is none on " + host +
            ": `at_once` needs a file system whose locks hold for all hosts (NFS without nolock, Lustre "
            "with flock, BeeGFS with tuneUseGlobalFileLocks)";
      }
    } catch (const Problem& failure) {
      problem = std::string(failure.what()) + ", which `at_once` needs";
    }
  };
  if (ranks.rank() == 0) attempt(true);
  (void)ranks.exchange({});
  if (ranks.rank() > 0) attempt(false);
  const std::vector<std::string> problems = ranks.exchange(problem);
  const auto first = std::ranges::find_if(problems, [](const std::string& each) { return !each.empty(); });
  if (first != problems.end()) throw UserError(*first);
}

MetricCommands::MetricCommands(const std::vector<CommandMetric>& metrics, std::size_t own_metrics,
                               const EvaluatorServices& services, std::string section)
    : own_metrics_(own_metrics),
      bounds_(services.bounds),
      run_folder_(services.folder),
      host_(services.place.host),
      section_(std::move(section)),
      watch_(services.watch) {
  for (const CommandMetric& metric : metrics) {
    if (!metric.is_measured()) continue;
    programs_.push_back({metric, std::nullopt});
    if (metric.at_once) programs_.back().turns.emplace(run_folder_, metric.name, *metric.at_once);
  }
}

void MetricCommands::check_locks(Ranks& ranks) const {
  const auto has_turns = [](const Program& program) { return program.turns.has_value(); };
  if (std::ranges::any_of(programs_, has_turns)) evaluate::check_locks(ranks, run_folder_, host_);
}

void MetricCommands::check_programs(const std::string& path) const {
  if (!programs_.empty()) (void)find_launcher();
  for (const Program& program : programs_) {
    const std::string& file = program.metric.run.front();
    if (!placeholders_in(file).empty()) continue;  // found when it starts
    try {
      (void)find_program(filled(file, {}), path);
    } catch (const UserError& reason) {
      throw UserError(section_ + ".metrics." + program.metric.name + ".run: " + reason.what());
    }
  }
}

bool MetricCommands::uses_placeholder(const std::string& name) const {
  return std::ranges::any_of(programs_, [&](const Program& program) {
    return evaluate::uses_placeholder(program.metric.run, name);
  });
}

bool MetricCommands::measures(const trial::Trial& trial) const {
  return std::ranges::any_of(programs_,
                             [&](const Program& program) { return has_metric(trial, program.metric); });
}

std::optional<trial::Outcome> MetricCommands::ask(
    const trial::Trial& trial, trial::EvaluationContext& context,
    const std::function<trial::Outcome(const Asking& ask)>& with_place) const {
  const auto is_asked = [](const Program& program) { return program.metric.is_before; };
  if (std::ranges::none_of(programs_, is_asked)) return std::nullopt;
  trial::Outcome asked = ask_together(context.group(), [&] {
    return with_place([&](const ProgramPlace& place) { return ask_here(trial, context, place); });
  });
  if (trial::is_whole(asked)) return std::nullopt;
  if (auto* const outside = std::get_if<trial::Measurements>(&asked)) {
    outside->values.assign(own_metrics_, kNotMeasured);
    asked = unmeasured(std::move(asked), context);
  }
  return asked;
}

/// Asks on this member, which leads. Returns an outcome that is whole if the trial may be trained.
trial::Outcome MetricCommands::ask_here(const trial::Trial& trial, trial::EvaluationContext& context,
                                        const ProgramPlace& place) const {
  trial::EarlyValues& values = context.early_values();
  for (const auto& [metric, value] : values.of_search()) {
    if (!values.known().contains(metric) && !depends_on_training(metric)) values.keep(metric, value);
  }
  for (const Program& program : programs_) {
    if (!program.metric.is_before || values.known().contains(program.metric.name)) continue;
    const Measured measured = measure(program, trial, context, place);
    if (const auto* failure = std::get_if<Failure>(&measured)) return *failure;
    values.keep(program.metric.name, std::get<double>(measured));
  }
  trial::Measurements asked;
  if (!trial.is_final()) asked.reason = broken_bound(values.known());
  if (!asked.reason.empty()) asked.extent = trial::Extent::kOutside;
  return asked;
}

bool MetricCommands::depends_on_training(const std::string& metric) const {
  return std::ranges::any_of(programs_, [&](const Program& program) {
    return program.metric.name == metric && std::ranges::any_of(kOfTraining, [&](const char* placeholder) {
             return evaluate::uses_placeholder(program.metric.run, placeholder);
           });
  });
}

/// Returns which constraint is broken, and how; empty if none is.
std::string MetricCommands::broken_bound(const trial::EarlyValues::ByMetric& known) const {
  const auto text = [](double value) { return ConfigNode::make_number(value).as_text(); };
  for (const MetricBound& bound : bounds_) {
    const auto answer = known.find(bound.metric);
    if (answer == known.end() || bound.range.holds(answer->second)) continue;
    return in_quotes(bound.metric) + " is " + text(answer->second) + ", and its constraint [" +
           text(bound.range.low) + ", " + text(bound.range.high) + "]";
  }
  return {};
}

trial::Outcome MetricCommands::unmeasured(trial::Outcome trained, trial::EvaluationContext& context) const {
  auto* const measurements = std::get_if<trial::Measurements>(&trained);
  if (measurements == nullptr) return trained;
  const trial::EarlyValues::ByMetric& known = context.early_values().known();
  for (const Program& program : programs_) {
    const auto value = known.find(program.metric.name);
    measurements->values.push_back(value == known.end() ? kNotMeasured : value->second);
  }
  return trained;
}

trial::Outcome MetricCommands::measured(trial::Outcome trained, const trial::Trial& trial,
                                        trial::EvaluationContext& context, const ProgramPlace& place) const {
  const bool is_whole = trial::is_whole(trained);
  trained = unmeasured(std::move(trained), context);
  if (!is_whole) return trained;
  std::vector<double>& values = std::get<trial::Measurements>(trained).values;
  auto value = values.end() - std::ssize(programs_);
  for (const Program& program : programs_) {
    double& each = *value++;
    if (!std::isnan(each) || !has_metric(trial, program.metric)) continue;
    const Measured measured = measure(program, trial, context, place);
    if (const auto* failure = std::get_if<Failure>(&measured)) return *failure;
    each = std::get<double>(measured);
  }
  return trained;
}

MetricCommands::Measured MetricCommands::measure(const Program& program, const trial::Trial& trial,
                                                 trial::EvaluationContext& context,
                                                 const ProgramPlace& place) const {
  const std::string& name = program.metric.name;
  FileDescriptor turn;
  if (program.turns && !(turn = acquire(*program.turns, context))) return stopped_for_all(context);
  fs::path log = place.logs.path(trial.name(), 0, 1);
  log.replace_extension(file_name_of(name) + ".log");
  Measured measured = repeated(program, trial, log, turn.get(), context, place);
  auto* const failure = std::get_if<Failure>(&measured);
  if (failure != nullptr && failure->kind != FailureKind::kStopped) {
    failure->reason = in_quotes(name) + ": " + failure->reason;
  }
  (void)keep_log(log, failure, place.logs, "trial " + to_text(trial.name()));
  return measured;
}

/// Measures as often as the metric asks for, and reports how far the values are apart. Returns their median.
/// @param turn  descriptor that must stay open as long as something of the program runs, or -1
MetricCommands::Measured MetricCommands::repeated(const Program& program, const trial::Trial& trial,
                                                  const fs::path& log, int turn,
                                                  trial::EvaluationContext& context,
                                                  const ProgramPlace& place) const {
  const CommandMetric& metric = program.metric;
  std::vector<double> values;
  for (std::uint32_t number = 0; number < metric.measurements; ++number) {
    const Measured measured = run(program, number, log, turn, context, place);
    if (std::holds_alternative<Failure>(measured)) return measured;
    values.push_back(std::get<double>(measured));
  }
  if (values.size() == 1) return values.front();
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  context.report(
      {place.step, {{metric.name + "_min", values.front()}, {metric.name + "_max", values.back()}}});
  const auto text = [](double value) { return ConfigNode::make_number(value).as_text(); };
  const std::string found = counted(values.size(), "measurement") + " from " + text(values.front()) + " to " +
                            text(values.back()) + ", median " + text(median);
  show("measured: " + metric.name + ": " + found);
  const bool is_noisy = values.back() - values.front() > kNoisy * std::abs(median);
  if (is_noisy && place.logs.should_tell("noisy." + file_name_of(metric.name))) {
    log::warning("trial " + to_text(trial.name()) + ": " + in_quotes(metric.name) + ": " + found +
                 ": differences between trials may be noise; the learning curve of each trial has the ends, "
                 "further ones are not told");
  }
  return median;
}

/// @param number  counts the measurements of this metric in the trial, from 0
/// @param turn    as in repeated()
MetricCommands::Measured MetricCommands::run(const Program& program, std::uint32_t number,
                                             const fs::path& log, int turn, trial::EvaluationContext& context,
                                             const ProgramPlace& place) const {
  const CommandMetric& metric = program.metric;
  ProcessPlan plan = plan_program(metric.run, place.placeholders, place.variables, log);
  plan.report_file = place.folder.report();
  plan.report_file += "." + std::to_string(&program - programs_.data()) + "." + std::to_string(number);
  plan.held = turn;
  plan.processors = place.processors;
  plan.limits = metric.limits;
  plan.timeout_s = metric.timeout_s;
  plan.grace_s = kMeasuringGrace_s;
  show("measures " + metric.name + ": " + printable(joined(plan.arguments, " ")));

  const trial::ScopeTimer timer(context.timing(), &trial::TrialTiming::latency_s);
  ReportReader reader(std::vector<trial::Metric>{metric}, true);  // it counts here, whatever its `when`
  std::optional<Failure> ended_by;
  const ProcessEnd end = UserProgram(plan).watch(&reader, [&] {
    if (ended_by) return true;
    if (must_stop(context)) {
      ended_by = stopped_for_all(context);
    } else if (reader.mistake()) {
      ended_by = Failure{FailureKind::kProgram, *reader.mistake()};
    }
    return ended_by.has_value();
  });
  if (ended_by) return *std::move(ended_by);
  trial::Outcome outcome = result_of(end, reader, place, log, in_quotes(metric.name), *left_out_);
  if (auto* const failure = std::get_if<Failure>(&outcome)) return std::move(*failure);
  const double value = std::get<trial::Measurements>(outcome).values.front();
  show("measured: " + metric.name + " " + ConfigNode::make_number(value).as_text());
  return value;
}

void MetricCommands::show(const std::string& line) const {
  if (watch_) watch_(line);
}

}  // namespace skyline::evaluate

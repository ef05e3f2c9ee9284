#include "evaluate/command/trial_attempt.hpp"

#include "skyline/core/error.hpp"

#include "core/config/byte_size.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/command/command_check.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/command/program_place.hpp"
#include "evaluate/process/error_words.hpp"
#include "store/publish/folder_tree.hpp"
#include "trial/course_text.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using trial::Failure;
using trial::FailureKind;

// Between two looks at the size of a trial's folder, and how often the time of a look that must be.
constexpr std::chrono::seconds kLeastLook(5);
constexpr int kPauseOfLooks = 50;

/// Returns the place of each member of the trial.
std::vector<ProcessPlace> places_of(const trial::TrialGroup* group) {
  if (group == nullptr) return process_places({0});
  std::vector<int> nodes;
  for (std::size_t member = 0; member < group->members(); ++member) {
    nodes.push_back(group->place_of(member).node);
  }
  return process_places(nodes);
}

/// Returns the words with which programs say that somebody else listens on their port.
bool names_a_port_in_use(const std::vector<std::string>& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) {
    const std::string lower = lower_case(line);
    return lower.find("address already in use") != std::string::npos ||
           lower.find("eaddrinuse") != std::string::npos;
  });
}

std::string quoted(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments)
    text += (text.empty() ? "'" : " '") + printable(argument) + "'";
  return text;
}

}  // namespace

Variables trainer_variables(const TrainerHost& host, const fs::path& temporary,
                            const std::vector<std::string>& devices) {
  Variables variables = program_variables(host.variables, temporary, host.options.threads, devices);
  const fs::path cache = store::cache_folder(host.services.folder, host.services.place.host);
  variables["TORCH_EXTENSIONS_DIR"] = (cache / "torch_extensions").string();
  variables["TRITON_CACHE_DIR"] = (cache / "triton").string();
  variables["TORCHINDUCTOR_CACHE_DIR"] = (cache / "inductor").string();
  for (const auto& [name, value] : host.options.variables) variables[name] = value;
  return variables;
}

TrialAttempt::TrialAttempt(TrainerHost& host, const trial::Trial& trial, trial::EvaluationContext& context)
    : host_(host),
      trial_(trial),
      context_(context),
      group_(context.group()),
      places_(places_of(group_)),
      place_(places_[group_ == nullptr ? 0 : group_->member()]),
      folder_(host.services.folder, trial.name()),
      reports_(host.metrics, trial.is_final()),
      decisions_(trial, context.pruning(), folder_.decisions(), reports_),
      log_(host.logs.path(trial.name(), place_.rank, place_.processes)) {}

bool TrialAttempt::starts_process() const {
  switch (host_.options.launch) {
    case CommandLaunch::kProcess:
      return true;
    case CommandLaunch::kNode:
      return place_.local_rank == 0;
    case CommandLaunch::kMpirun:
      return leads();
  }
  throw InternalError("an unknown launch");
}

/// Gives all members the folder of member 0, which alone may have it made. Returns false if member 0 was
/// asked to stop meanwhile.
bool TrialAttempt::share_folder() {
  if (leads()) {
    const trial::TrialFolder* const made = context_.folder();
    if (made == nullptr) return false;
    files_ = *made;
  }
  if (group_ == nullptr) return true;
  std::string text;
  if (leads()) text = (files_.resumed ? "1" : "0") + files_.path.string() + '\0' + files_.parent.string();
  std::uint64_t bytes = text.size();
  group_->broadcast(std::as_writable_bytes(std::span(&bytes, 1)));
  text.resize(bytes);
  group_->broadcast(std::as_writable_bytes(std::span(text)));
  const std::size_t end = text.find('\0');
  files_ = {text.substr(1, end - 1), text.front() == '1', text.substr(end + 1)};
  return true;
}

/// Returns why the size of the trial's folder ends it, if it does.
std::optional<Failure> TrialAttempt::excess_of_folder() {
  const std::uint64_t most = host_.options.folder_limit_bytes;
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t bytes = 0;
  try {
    bytes = store::tree_bytes(files_.path, most);
  } catch (const UserError& mistake) {
    return Failure{FailureKind::kProgram, mistake.what()};
  }
  const auto now = std::chrono::steady_clock::now();
  next_look_ = now + std::max<std::chrono::steady_clock::duration>(kLeastLook, kPauseOfLooks * (now - began));
  if (bytes <= most) return std::nullopt;
  return Failure{FailureKind::kProgram,
                 "its folder has more than command.folder_limit, " + byte_size().write(most).as_text()};
}

LauncherStart TrialAttempt::launcher_start() {
  if (host_.server == nullptr) return start_launcher;
  return [this](const ProcessPlan& plan, const std::string& mark) {
    return host_.server->fork(plan, mark, [this] { return must_end(); });
  };
}

WrittenPlaces TrialAttempt::written_places() const {
  return {files_.path.parent_path(), folder_.temporary().parent_path(),
          store::cache_folder(host_.services.folder, host_.services.place.host)};
}

/// Shows a person who watches the trial what starts.
void TrialAttempt::show(const ProcessPlan& plan) const {
  if (!host_.services.watch) return;
  host_.services.watch("program: " + printable(plan.arguments.front()));
  host_.services.watch("arguments: " + quoted({plan.arguments.begin() + 1, plan.arguments.end()}));
  for (const auto& [name, value] : plan.variables) {
    const bool passed = std::ranges::count(host_.options.passed, name) > 0;
    host_.services.watch("variable: " +
                         (passed ? name + " (passed, not shown)" : printable(name + "=" + value)));
  }
  std::vector<std::string> processors;
  for (const int processor : plan.processors) processors.push_back(std::to_string(processor));
  host_.services.watch("place: host " + host_.services.place.host + ", processors " + joined(processors) +
                       ", folder " + printable(plan.folder.string()));
}

ProgramPlace TrialAttempt::place(const std::vector<int>& processors) const {
  return {host_.services.folder,
          placeholders(),
          variables(context_.place().devices),
          processors,
          folder_,
          written_places(),
          host_.logs,
          last_step_of_curve_};
}

/// Asks what must be known before the training. Returns the outcome if nothing is trained.
std::optional<trial::Outcome> TrialAttempt::ask(const std::vector<int>& processors) {
  return host_.measuring.ask(trial_, context_,
                             [&](const MetricCommands::Asking& ask) { return ask(place(processors)); });
}

/// Begins the attempt. Returns its outcome if this member starts no process, or the trial must stop before.
std::optional<trial::Outcome> TrialAttempt::prepare(Start& start) {
  const bool all_listen = host_.options.framework_or_default() == CommandFramework::kTensorflow;
  if (host_.options.forms_groups() && (leads() || all_listen)) port_.emplace(host_.ports.acquire());
  if (!share_folder()) {
    const Failure stopped{FailureKind::kStopped, "stopped on request"};
    if (group_ != nullptr) group_->abort(stopped);
    return stopped;
  }
  rendezvous_ = exchange_rendezvous();
  if (!starts_process()) {
    start.reset();
    if (auto ended = ask({})) return ended;
    return wait_for_members(context_, trial::Measurements{});
  }
  const auto is_like_first = [&](const ProcessPlace& each) {
    return each.local_processes == places_.front().local_processes;
  };
  if (host_.options.launch == CommandLaunch::kNode && !std::ranges::all_of(places_, is_like_first)) {
    throw FaultError("launch: node needs the same number of processes on each host of a trial");
  }
  write_parameters(host_.services, trial_, folder_, files_, trial::names_of(host_.metrics));
  decisions_.write();
  const bool uses_network =
      uses_placeholder(host_.options.trainer(), "network") || host_.measuring.uses_placeholder("network");
  if (host_.services.write_network && uses_network) {
    host_.services.write_network(trial_.architecture(), folder_.network());
  }
  return std::nullopt;
}

/// Runs the process to its end. Until it has started, the trial's time does not run.
ProcessEnd TrialAttempt::run(const ProcessPlan& plan, Start& start) {
  UserProgram program(plan, launcher_start());
  std::optional<trial::ScopeTimer> timer;
  const auto must_end_now = [&] {
    if (start && program.has_started()) {
      start.reset();
      timer.emplace(context_.timing(), &trial::TrialTiming::train_s);
    }
    take_points();
    return must_end();
  };
  const ProcessEnd end = program.watch(&reports_, must_end_now);
  start.reset();
  take_points();
  return end;
}

trial::Outcome TrialAttempt::run() {
  Start start(std::in_place, context_, &trial::TrialTiming::setup_s);
  if (auto ended = prepare(start)) return *std::move(ended);
  const bool starts_all = host_.options.launch != CommandLaunch::kProcess;
  const auto members = static_cast<std::size_t>(starts_all ? place_.local_processes : 1);
  const auto share = host_.processors.acquire(members * static_cast<std::size_t>(host_.options.threads));
  ProcessPlan planned = plan();
  planned.processors = share.processors();
  show(planned);
  start.reset();
  if (auto ended = ask(planned.processors)) return *std::move(ended);
  start.emplace(context_, &trial::TrialTiming::setup_s);
  const ProcessEnd end = run(planned, start);
  const bool ended_itself = !ended_by_ && end.kind == ProcessEnd::Kind::kExited;
  if (!ended_itself) {
    store::remove_left_locks(store::cache_folder(host_.services.folder, host_.services.place.host));
  }
  trial::Outcome outcome = judge(end, place(planned.processors));
  keep_log(outcome);
  warn_of_unreported(outcome);
  if (leads()) {
    outcome = host_.measuring.measured(std::move(outcome), trial_, context_, place(planned.processors));
    if (std::holds_alternative<trial::Measurements>(outcome)) {
      if (auto excess = excess_of_folder()) outcome = *std::move(excess);
    }
  }
  return wait_for_members(context_, std::move(outcome));
}

/// Asks whether the process must be ended, and notes why.
bool TrialAttempt::must_end() {
  if (ended_by_) return false;  // it was told already
  if (leads() && reports_.mistake()) {
    ended_by_ = Failure{FailureKind::kProgram, *reports_.mistake()};
  } else if (leads() && context_.control().stop_requested()) {
    ended_by_ = Failure{FailureKind::kStopped, "stopped on request"};
    log::info("trial " + to_text(trial_.name()) + ": its trainer gets SIGTERM, and has " +
              seconds_text(host_.options.grace_s) + " to save (1 s after Ctrl-C under Open MPI 4.1)");
    if (group_ != nullptr) group_->abort(*ended_by_);
  } else if (leads() && std::chrono::steady_clock::now() >= next_look_ && (ended_by_ = excess_of_folder())) {
    log::info("trial " + to_text(trial_.name()) + ": " + ended_by_->reason);
  } else if (group_ != nullptr) {
    try {
      group_->check();
    } catch (const trial::GroupAborted& aborted) {
      ended_by_ = aborted.failure();
      others_failed_ = true;
    }
  }
  return ended_by_.has_value();
}

/// Hands on what the process has reported. Only process 0 may report.
void TrialAttempt::take_points() {
  if (!leads()) {
    if (reports_.lines() > 0 && !host_.told_of_others.exchange(true) && host_.logs.should_tell("processes")) {
      log::warning("trial " + to_text(trial_.name()) + ": process " + std::to_string(place_.rank) +
                   " reports too; only what process 0 of a trial reports counts");
    }
    return;
  }
  host_.left_out.warn("trial " + to_text(trial_.name()), reports_.take_reasons(), host_.logs);
  for (trial::CurvePoint& point : reports_.take_points()) {
    if (host_.services.watch) host_.services.watch("reported: " + trial::to_text(point));
    last_step_of_curve_ = point.step;
    context_.report(std::move(point));
  }
  decisions_.decide();
}

Failure TrialAttempt::failure_of(const ProcessEnd& end, const ProgramPlace& place) const {
  Failure failure = evaluate::failure_of(end, place, log_);
  if (!end.is_own() || failure.is_of_storage()) return failure;
  if (names_a_port_in_use(log_tail(log_))) {
    return {FailureKind::kException, end.reason + std::string(kPortInUse)};
  }
  // One of several processes may have ended because a rank is lost, which nobody knows yet: it is tried once
  // more.
  if (place_.processes > 1) failure.kind = FailureKind::kException;
  return failure;
}

/// Returns the outcome of this member's process.
trial::Outcome TrialAttempt::judge(const ProcessEnd& end, const ProgramPlace& place) {
  if (ended_by_) return *ended_by_;
  if (!end.is_good()) {
    Failure failure = failure_of(end, place);
    if (place_.processes > 1)
      failure.reason = "process " + std::to_string(place_.rank) + ": " + failure.reason;
    return failure;
  }
  if (!leads()) return trial::Measurements{};
  if (auto excess = excess_of_folder()) return *std::move(excess);
  if (decisions_.ended_trial()) return trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  return result_of(end, reports_, place, log_, "trial " + to_text(trial_.name()), host_.left_out);
}

void TrialAttempt::warn_of_unreported(const trial::Outcome& outcome) const {
  const std::string what = trial::is_whole(outcome) ? decisions_.unreported() : "";
  if (what.empty() || !host_.logs.should_tell("pruning")) return;
  log::warning("trial " + to_text(trial_.name()) + ": " + what +
               " (`search.pruning.at`), so it is not compared there; further trials are not told");
}

/// Keeps the log, and says why the attempt has failed.
void TrialAttempt::keep_log(const trial::Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  log_ =
      evaluate::keep_log(log_, failure, host_.logs, others_failed_ ? "" : "trial " + to_text(trial_.name()));
  if (!host_.services.watch || failure != nullptr) return;
  for (const std::string& line : log_tail(log_)) host_.services.watch("printed: " + line);
}

}  // namespace skyline::evaluate

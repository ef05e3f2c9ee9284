#include "app/job/stop_request.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"

#include "core/backoff.hpp"
#include "core/config/config_errors.hpp"
#include "core/log.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/foreign_text.hpp"
#include "report/html/html_report.hpp"
#include "report/text/status.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr double kLongest_s = 10 * 365 * 86400.0;  // a longer time would overflow clocks

std::optional<double> seconds_to_job_end(const comm::Launch& launch, double unix_start_s) {
  const std::optional<double> left_s = comm::seconds_left(launch, unix_start_s);
  if (launch.job_end && !left_s) {
    log::warning("SLURM_JOB_END_TIME: expected a time in the future, in seconds since 1970, got \"" +
                 *launch.job_end + "\"; it does not bound this job");
  }
  return left_s;
}

/// Returns e.g. "2026-11-21 14:05:10 CET".
std::string local_time(double unix_s) {
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm local{};
  ::localtime_r(&time, &local);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%F %T %Z", &local)};
}

std::string signal_name(int signal) {
  if (signal == SIGUSR1) return "SIGUSR1";
  if (signal == SIGHUP) return "SIGHUP";
  return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

std::atomic<int> seen_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not lock");

/// Calls only functions that are async-signal-safe.
extern "C" void note_signal(int signal) {
  if (seen_signal.load() != SIGINT) {
    seen_signal.store(signal);
  } else if (signal == SIGINT) {
    _exit(exit_code_of_signal(SIGINT));
  }
}

constexpr std::array kSignals{SIGUSR1, SIGTERM, SIGHUP, SIGINT};

struct sigaction noting_action() noexcept {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // interrupted system calls of all threads continue
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  return action;
}

/// Returns whether a signal stays ignored: a hang-up, under nohup.
bool stays_ignored(int signal, const struct sigaction& earlier) noexcept {
  return signal == SIGHUP && earlier.sa_handler == SIG_IGN;
}

/// Returns whether a job that ended before it had the folder may write its end there. @throws Problem if the
/// folder cannot be read
bool may_tell_without_claim(const store::RunPaths& paths) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(paths.root, ignored)) return false;
  if (!store::exists(paths.journal())) store::check_fresh_folder(paths, {}, report::result_paths(paths));
  const std::optional<store::RunOwner> owner = store::read_owner(paths);
  return !owner || !owner->active;
}

bool may_tell(const store::RunPaths& paths, const store::RunClaim* claim, const comm::Launch& launch) {
  try {
    if (claim == nullptr) return !launch.job.empty() && may_tell_without_claim(paths);
    claim->check();
    return true;
  } catch (const Problem&) {
    return false;
  }
}

report::JobEnding with_job(report::JobEnding ending, const comm::Launch& launch) {
  ending.job = launch.task.empty() ? launch.job : launch.job + "_" + launch.task;
  ending.restart = launch.restarts;
  return ending;
}

}  // namespace

void note_early_signals() noexcept {
  const struct sigaction action = noting_action();
  for (const int signal : kSignals) {
    struct sigaction earlier {};
    ::sigaction(signal, &action, &earlier);
    if (stays_ignored(signal, earlier)) ::sigaction(signal, &earlier, nullptr);
  }
}

bool early_signal_noted() {
  return seen_signal.load() != 0;
}

void release_early_signals() {
  for (const int signal : kSignals) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == note_signal) std::signal(signal, SIG_DFL);
  }
  if (const int signal = seen_signal.exchange(0)) std::raise(signal);
}

StopSignals::StopSignals() {
  static_assert(std::tuple_size_v<decltype(earlier_)> == kSignals.size());
  const struct sigaction action = noting_action();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (sigaction(kSignals[i], &action, &earlier_[i]) != 0) {
      throw InternalError("cannot handle a signal: " + system_error_text(errno));
    }
    if (stays_ignored(kSignals[i], earlier_[i])) sigaction(kSignals[i], &earlier_[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &earlier_[i], nullptr);
  seen_signal.store(0);
}

int StopSignals::signal() const {
  return seen_signal.load();
}

std::optional<StopTime> find_stop_time(std::optional<double> time_limit_s, const comm::Launch& launch,
                                       double unix_start_s) {
  std::optional<StopTime> stop;
  if (time_limit_s) stop = StopTime{*time_limit_s, "at run.time_limit"};
  const std::optional<double> slurm_s = seconds_to_job_end(launch, unix_start_s);
  if (slurm_s && (!stop || *slurm_s - evaluate::kStopMargin_s < stop->after_s)) {
    stop = StopTime{std::max(0.0, *slurm_s - evaluate::kStopMargin_s),
                    "a minute before the end of the Slurm job"};
  }
  return stop;
}

StopRequest::StopRequest() : started_(std::chrono::steady_clock::now()), unix_start_s_(unix_now_s()) {}

void StopRequest::limit(std::optional<double> time_limit_s, const comm::Launch& launch) {
  const std::optional<StopTime> time = find_stop_time(time_limit_s, launch, unix_start_s_);
  if (!time) return;
  const std::chrono::duration<double> after(std::min(time->after_s, kLongest_s));
  end_ = started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(after);
  end_cause_ = time->cause;
}

void StopRequest::announce() const {
  if (end_.load() == kNoEnd) return;
  const std::chrono::duration<double> after = end_.load() - started_;
  log::info("this job stops early on " + local_time(unix_start_s_ + after.count()) + ", " + end_cause_);
}

std::optional<double> StopRequest::seconds_left() const {
  if (end_.load() == kNoEnd) return std::nullopt;
  const std::chrono::duration<double> left = end_.load() - std::chrono::steady_clock::now();
  return std::max(0.0, left.count());
}

bool StopRequest::time_is_up() const {
  return std::chrono::steady_clock::now() >= end_.load();
}

bool StopRequest::requested() const {
  return signals_.stop_requested() || time_is_up();
}

std::string StopRequest::cause() const {
  if (signals_.stop_requested()) return "on " + signal_name(signals_.signal());
  return time_is_up() ? end_cause_ : "on a signal to another rank";
}

std::string rank_name(comm::Environment& environment) {
  return "[rank " + std::to_string(environment.world().rank()) + " " + environment.place().host + "]";
}

void print_error(std::string_view text) {
  log::flush();
  say(text);
  log::note(log::Level::kError, text);
}

std::vector<std::string> error_lines(const std::exception& error) {
  const auto* several = dynamic_cast<const ConfigErrors*>(&error);
  return several == nullptr ? std::vector{error_text(error)} : several->lines();
}

void print_error(const std::exception& error, const std::string& signature) {
  for (const std::string& line : error_lines(error)) {
    print_error(signature + (signature.empty() ? "" : " ") + line);
  }
}

void tell(const std::string& text) {
  log::flush();
  (void)write_whole(STDOUT_FILENO, text);
}

void print_end(const std::string& text) {
  tell("skyline: " + text + "\n");
  log::note(log::Level::kInfo, text);
}

void note_exit_code(int exit_code) {
  const bool good = exit_code == kExitDone || exit_code == kExitStopped;
  log::note(good ? log::Level::kInfo : log::Level::kError,
            "this job ends with exit code " + std::to_string(exit_code));
}

int end_all_ranks(comm::Environment& environment, const std::exception& error, int exit_code,
                  const std::filesystem::path& log_file, bool others_go_on) {
  std::error_code ignored;
  const bool is_silent =
      !store::stalled_operation(store::silence_s()).empty();  // looking at the file would wait
  if (environment.world().rank() != comm::kCoordinator && !is_silent &&
      std::filesystem::exists(log_file, ignored)) {
    try {  // only rank 0 has it open
      log::start({.file = log_file.string(), .prefix = ""});
    } catch (const UserError&) {  // at least the terminal has the error
    }
  }
  print_error(error, environment.world().size() > 1 ? rank_name(environment) : "");
  note_exit_code(exit_code);
  log::stop();
  environment.abort(others_go_on ? exit_code_of_rank(environment, exit_code) : exit_code);
  return exit_code;
}

int exit_code_of_rank(comm::Environment& environment, int exit_code) {
  const bool alone = environment.launch().survivors_live && environment.world().rank() != comm::kCoordinator;
  return alone ? kExitDone : exit_code;
}

void tell_end(comm::Environment& environment, const store::RunPaths& paths, const store::RunClaim* claim,
              report::JobEnding ending) {
  const comm::Launch& launch = environment.launch();
  if (environment.world().rank() != comm::kCoordinator || !may_tell(paths, claim, launch)) return;
  report::publish_end(paths, with_job(std::move(ending), launch));
}

void tell_end_for_coordinator(comm::Environment& environment, const store::RunPaths& paths, pid_t process,
                              bool may_have_told, int exit_code) {
  const auto may_write = [=, host = environment.hosts().front()] {
    const std::optional<store::RunOwner> owner = store::read_owner(paths);
    if (!owner || owner->process != process || owner->host != host) return false;
    return !may_have_told || !report::last_exit_code(paths);
  };
  constexpr std::chrono::seconds kPatience(10);
  report::publish_end(paths, with_job({.exit_code = exit_code}, environment.launch()), kPatience, may_write);
}

}  // namespace skyline::app

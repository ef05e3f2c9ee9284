#include "app/job/watchdog.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "comm/agreement.hpp"
#include "comm/mpi/start_watch.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/publish/retry_policy.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr std::chrono::milliseconds kCheckPeriod(250);
constexpr double kOldExchange_s = 1;  // the thread has not come to it, or the process was suspended
constexpr double kGrace_s = 10;       // the main thread ends the job in a better way, if it can
constexpr double kMostSaving_s = 25;  // a little more than the engine takes for all ranks
constexpr std::chrono::seconds kLauncherPatience(4);  // less than that of Environment::abort
constexpr std::chrono::seconds kEndPatience(30);

const std::string& own_host(comm::Environment& environment) {
  return environment.hosts()[static_cast<std::size_t>(environment.world().rank())];
}

std::vector<engine::RankProcess> share_processes(comm::Environment& environment, comm::StartWatch& start) {
  start.waits_for("until all ranks know each other's processes: one may have ended, or hang");
  comm::Communicator& world = environment.world();
  return comm::share(world, comm::gather(world, engine::RankProcess::own()));
}

std::unique_ptr<engine::Heartbeats> make_signs(comm::Environment& environment) {
  comm::Communicator& world = environment.world();
  auto link =
      environment.threads_may_communicate() ? environment.make_link(engine::Heartbeats::kMostBytes) : nullptr;
  if (link == nullptr) return nullptr;
  return std::make_unique<engine::Heartbeats>(std::move(link), world.rank(), world.size(),
                                              engine::steady_now_s());
}

}  // namespace

Watchdog::Watchdog(comm::Environment& environment, const comm::StartOptions& options, const StopRequest& stop,
                   store::RunPaths paths)
    : Watchdog(environment, stop, std::move(paths),
               comm::StartWatch(options, environment.launch(), own_host(environment))) {}

Watchdog::Watchdog(comm::Environment& environment, const StopRequest& stop, store::RunPaths paths,
                   comm::StartWatch&& start)
    : environment_(environment),
      stop_(stop),
      paths_(std::move(paths)),
      processes_(share_processes(environment, start)),
      ended_(survivors_live() ? processes_ : std::vector<engine::RankProcess>(), engine::steady_now_s(),
             [](std::size_t) { return false; }),
      signs_(make_signs(environment)),
      exchanged_s_(engine::steady_now_s()),
      thread_([this](const std::stop_token& end) { watch(end); }) {}

Watchdog::~Watchdog() {
  thread_.request_stop();
  thread_.join();
  if (signs_ == nullptr) return;
  const int code = exit_code_ == kExitDone ? kExitFault : exit_code_.load();
  std::thread([name = rank_name(environment_), code] {
    std::this_thread::sleep_for(kEndPatience);
    say(name + " MPI does not end, because a rank hangs: everything is written");
    comm::flush_streams();
    _exit(code);
  }).detach();
}

void Watchdog::end_search() {
  phase_ = environment_.world().rank() == comm::kCoordinator ? JobPhase::kResults : JobPhase::kEnd;
}

void Watchdog::end_job(int exit_code) {
  exit_code_ = exit_code;
  phase_ = JobPhase::kEnd;
}

void Watchdog::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, stop, kCheckPeriod, [&] { return stop.stop_requested(); })) {
    try {
      check();
    } catch (const FaultError& error) {
      say(rank_name(environment_) + " " + error.what());
      const int code = exit_code_now(kExitFault);
      tell_end_of_hang();
      kill_hung_rank();
      environment_.abort(phase_ == JobPhase::kStart ? code : exit_code_of_rank(environment_, code));
    }
  }
}

void Watchdog::check() {
  store::check_stalls(store::silence_s() + kGrace_s);
  if (phase_ == JobPhase::kStart) check_dead_ranks();
  if (signs_ == nullptr) return;
  exchange_heartbeats();
  if (signs_->hung()) handle_hung_rank();
}

void Watchdog::exchange_heartbeats() {
  if (stop_.requested()) signs_->stop();
  const bool coordinates = environment_.world().rank() == comm::kCoordinator;
  const bool listens =
      !coordinates || (phase_ != JobPhase::kResults && (phase_ == JobPhase::kStart || !survivors_live()));
  exchanged_s_ = engine::steady_now_s();
  signs_->exchange(exchanged_s_, lost_after_s_, listens);
}

void Watchdog::check_dead_ranks() {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  for (const auto& loss : ended_.losses(engine::steady_now_s(), kNever)) {
    throw FaultError("rank " + std::to_string(loss.rank) + " on " + environment_.hosts()[loss.rank] +
                     " has ended while the job was starting: nothing is lost, run again with --resume");
  }
}

/// Ends the job when the ranks have saved, or have had the time. The main thread of the rank that leads does
/// it, if it comes to hold().
void Watchdog::handle_hung_rank() {
  const double now_s = engine::steady_now_s();
  const double passed_s = now_s - hung_since_s_.value_or(now_s);
  hung_since_s_ = now_s - passed_s;
  const bool has_saved = holds_ || phase_ != JobPhase::kSearch;
  if (has_saved && !std::exchange(tells_, true)) signs_->tell_saved();
  const bool others_saved = survivors_live() || signs_->unsaved() == 0 || passed_s > kMostSaving_s;
  const bool leads = survivors_live() || signs_->leads();
  if (leads && has_saved && others_saved) {
    if (!holds_) throw FaultError(hang_now()->reason);
    may_end_ = true;
    changed_.notify_all();
  }
  const double most_s = kMostSaving_s + (leads ? kGrace_s : 2 * kGrace_s);
  if (passed_s > most_s && !may_end_) throw FaultError(hang_now()->reason);
}

std::optional<engine::Hang> Watchdog::hang_now() const {
  if (signs_ == nullptr || !signs_->hung()) return std::nullopt;
  const engine::HungRank& hung = *signs_->hung();
  const bool own = hung.rank == environment_.world().rank();
  const std::string who = "rank " + std::to_string(hung.rank) + " on " +
                          environment_.hosts()[static_cast<std::size_t>(hung.rank)] + " hangs (silent for " +
                          std::to_string(std::lround(hung.silent_s)) + " s)";
  if (hung.stops) {  // a launcher that ends the job tells a rank that wakes up to stop, too
    return engine::Hang{who +
                            ": the job stops without it, and what it trained after its last checkpoint is " +
                            "done again: run again with --resume",
                        true, own};
  }
  return engine::Hang{who +
                          ", longer than run.lost_after: the job ends, and what it trained after its last " +
                          "checkpoint is done again: run again with --resume",
                      false, own};
}

std::optional<engine::Hang> Watchdog::hang() {
  const std::lock_guard lock(mutex_);
  if (signs_ != nullptr && engine::steady_now_s() - exchanged_s_ > kOldExchange_s) exchange_heartbeats();
  return hang_now();
}

int Watchdog::exit_code_now(int otherwise) const {
  const std::optional<engine::Hang> hang = hang_now();
  if (!hang) return otherwise;
  if (exit_code_ != kExitDone && phase_ == JobPhase::kEnd) return exit_code_;
  return hang->stops ? kExitStopped : kExitFault;
}

int Watchdog::exit_code(const std::exception& error) {
  const std::lock_guard lock(mutex_);
  return exit_code_now(exit_code_of(error));
}

/// Writes the exit code of a job that a hang ends, if this is rank 0, or does so in its place.
void Watchdog::tell_end_of_hang() const {
  if (signs_ == nullptr || !signs_->hung()) return;
  const bool coordinates = environment_.world().rank() == comm::kCoordinator;
  const bool is_told = phase_ == JobPhase::kEnd;  // rank 0 may have done it
  if (coordinates ? is_told : signs_->hung()->rank != comm::kCoordinator) return;
  tell_end_for_coordinator(environment_, paths_, processes_.front().number, is_told,
                           exit_code_now(kExitFault));
}

/// Ends the process of the rank that hangs, if it is on this node. The launcher does that too, and says how
/// the job ended; so it comes first, unless it lets survivors live.
void Watchdog::kill_hung_rank() const {
  if (signs_ == nullptr || !signs_->hung()) return;
  const engine::RankProcess process = processes_[static_cast<std::size_t>(signs_->hung()->rank)];
  const auto own = engine::RankProcess::own();
  if (survivors_live()) {
    process.kill(own);
    return;
  }
  std::thread([process, own] {
    std::this_thread::sleep_for(kLauncherPatience);
    process.kill(own);
  }).detach();
}

void Watchdog::hold() {
  std::unique_lock lock(mutex_);
  if (signs_ == nullptr || !signs_->hung()) return;
  holds_ = true;
  changed_.wait(lock, [&] { return may_end_; });
  if (!survivors_live() && signs_->unsaved() > 0)
    log::warning(counted(static_cast<std::size_t>(signs_->unsaved()), "rank") + " did not save in time");
  if (environment_.world().rank() != comm::kCoordinator) tell_end_of_hang();
  kill_hung_rank();
}

}  // namespace skyline::app

#include "app/job/job_guard.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "app/job/job_stop.hpp"
#include "comm/agreement.hpp"
#include "comm/mpi/start_watch.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/patience.hpp"

#include <chrono>
#include <cstddef>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr std::chrono::seconds kLook(1);
constexpr double kGrace_s = 10;  // the main thread ends the job in a better way, if it can

engine::RankWatch watch_ranks(comm::Environment& environment, const comm::StartOptions& options) {
  comm::Communicator& world = environment.world();
  comm::StartWatch start(options, environment.launch(),
                         environment.hosts()[static_cast<std::size_t>(world.rank())]);
  start.waits_for("until all ranks know each other's processes: one may have ended");
  std::vector<engine::RankProcess> processes;
  if (comm::share(world, environment.launch().survivors_live)) {  // rank 0's answer counts, as in the engine
    processes = comm::share(world, comm::gather(world, engine::RankProcess::own()));
  }
  return {std::move(processes), std::numeric_limits<double>::infinity(), engine::steady_now_s(),
          [](std::size_t) { return false; }};
}

}  // namespace

JobGuard::JobGuard(comm::Environment& environment, const comm::StartOptions& options)
    : environment_(environment),
      ranks_(watch_ranks(environment, options)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void JobGuard::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, kLook, [&] { return stop.stop_requested(); })) {
    try {
      look();
    } catch (const FaultError& error) {
      // It does not use the log, which may itself hang.
      std::cerr << "skyline: " + printable(rank_name(environment_) + " " + error.what()) + "\n";
      comm::flush_streams();
      _exit(starts_ ? kExitFault : exit_code_of_rank(environment_, kExitFault));
    }
  }
}

void JobGuard::look() {
  store::check_silence(store::silence_s() + kGrace_s);
  if (!starts_) return;
  for (const auto& loss : ranks_.losses(engine::steady_now_s())) {
    throw FaultError("rank " + std::to_string(loss.rank) + " on " + environment_.hosts()[loss.rank] +
                     " has ended while the job was starting: nothing is lost, run again with --resume");
  }
}

}  // namespace skyline::app

#include "report/text/status_file.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "store/publish/block_reader.hpp"
#include "store/publish/publish.hpp"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

std::string state_after(int exit_code) {
  if (exit_code == kExitStopped) return "stopped";
  return exit_code == kExitDone || exit_code == kExitNoFront ? "finished" : "failed";
}

void write_end(const store::RunPaths& paths, const JobEnding& ending) {
  RunStatus status = read_status(paths).value_or(RunStatus());
  status.state = state_after(ending.exit_code);
  status.in_flight = status.waiting = 0;
  status.eta_s.reset();
  status.updated = unix_now_s();
  status.ending = ending;
  store::publish_file(paths.status_json(), status.to_json());
}

}  // namespace

std::optional<RunStatus> read_status(const store::RunPaths& paths) {
  try {
    if (!store::exists(paths.status_json())) return std::nullopt;
    return RunStatus::parse(store::read_run_file(paths.status_json()), paths.status_json().string());
  } catch (const UserError& problem) {
    log::warning(fmt::format("{}; it is left out", problem.what()));
    return std::nullopt;
  }
}

StatusFile::StatusFile(std::filesystem::path path) : path_(std::move(path)), thread_(2) {}

bool StatusFile::offer(const RunStatus& status) {
  if (busy_) return false;
  publish(status);
  return true;
}

std::future<void> StatusFile::publish(const RunStatus& status) {
  busy_ = true;
  const auto done = std::make_shared<std::promise<void>>();
  thread_.post([this, done, text = status.to_json()] {
    try {
      store::publish_file(path_, text);
    } catch (const Problem& problem) {
      if (!std::exchange(warned_, true)) {
        log::warning(fmt::format("{}; the run goes on, its status is out of date", problem.what()));
      }
    }
    busy_ = false;
    done->set_value();
  });
  return done->get_future();
}

/// A thread that hangs on a dead disk is abandoned.
void publish_end(const store::RunPaths& paths, const JobEnding& ending, std::chrono::milliseconds patience,
                 std::function<bool()> may_write) {
  std::packaged_task<void()> write([paths, ending, may_write = std::move(may_write)] {
    if (!may_write || may_write()) write_end(paths, ending);
  });
  std::future<void> written = write.get_future();
  std::thread(std::move(write)).detach();
  std::string problem = "the file system does not answer";
  try {
    if (written.wait_for(patience) == std::future_status::ready) return written.get();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  log::warning(fmt::format("{} does not say how this job ended: {}", paths.status_json().string(), problem));
}

}  // namespace skyline::report

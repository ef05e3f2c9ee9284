#include "skyline/core/error.hpp"

#include "app/job/stop_request.hpp"
#include "comm/agreement.hpp"
#include "report/results/result_files.hpp"
#include "report/text/status_file.hpp"
#include "report/text/status_text.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/fresh_folder.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace skyline::app {
namespace {

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

#include "evaluate/command/host_preparation.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/process/error_words.hpp"
#include "store/publish/folder_tree.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLogs = 300;  // logs of successful trials that a run keeps
constexpr std::size_t kLeastLogs = 10;  // lower bound of the logs that a rank keeps

/// Checks that programs start in the folder in which the run was started.
void keep_start_folder(const fs::path& run) {
  const fs::path file = store::RunPaths{run}.started_in();
  const std::string here = fs::current_path().string();
  if (!store::exists(file)) {
    store::make_own_folder(file.parent_path());
    return store::publish_file(file, here);
  }
  const std::string there = store::read_file(file);
  if (there == here) return;
  throw UserError("this run's trainer starts in " + printable(there) + ": resume it from there, not from " +
                  printable(here) + ", or add --moved");
}

fs::path log_of(const TrainerHost& host, const std::string& program) {
  return store::RunPaths{host.services.folder}.log().parent_path() / (program + ".log");
}

ProcessPlan plan_of(const TrainerHost& host, const store::AttemptFolder& folder,
                    const std::vector<std::string>& devices) {
  const CommandOptions& options = host.options;
  const std::string& name = host.services.place.host;
  const Variables values{{"data", host.services.data_file.string()},
                         {"cache", store::cache_folder(host.services.folder, name).string()}};
  ProcessPlan plan =
      plan_program(options.prepare, values, trainer_variables(host, folder.temporary(), devices),
                   log_of(host, "prepare." + name));
  plan.log_limit = options.log_limit_bytes;
  plan.timeout_s = options.prepare_timeout_s;
  plan.timeout_name = "command.prepare_timeout";
  plan.grace_s = options.grace_s;
  return plan;
}

/// Why a preparation has no good end; empty if it has one.
std::string problem_of(const TrainerHost& host, const ProcessPlan& plan) {
  bool stopped = false;
  const ProcessEnd end = UserProgram(plan).watch(nullptr, [&] {
    return stopped = stopped || (host.services.stop_requested && host.services.stop_requested());
  });
  if (stopped || end.is_good()) return {};
  return (end.kind == ProcessEnd::Kind::kTimedOut ? "" : "failed with ") + end.reason;
}

/// Returns the plan of a rank's server.
ProcessPlan server_plan(const TrainerHost& host, const std::vector<std::string>& devices, int rank) {
  const CommandOptions& options = host.options;
  return {.arguments = {host.program.string(), "-m", "skyline.fork_server", *options.python},
          .variables = trainer_variables(host, host.server_folder->temporary(), devices),
          .folder = fs::current_path(),
          .log = log_of(host, "server." + std::to_string(rank)),
          .log_limit = options.log_limit_bytes,
          .processors = host.services.place.processors,
          .grace_s = options.grace_s};
}

}  // namespace

void prepare_program_folders(const fs::path& run) {
  store::remove_temporaries(store::RunPaths{run}.trainer());
  keep_start_folder(run);
  store::remove_attempts(run);
  store::TrialLogs::prune(run, kMostLogs);
}

void check_program_folders(const fs::path& run, const fs::path& log) {
  store::PinnedFolders::check(log);
  store::PinnedFolders::check(store::RunPaths{run}.trainer() / "attempts");
}

std::size_t most_logs(int ranks) {
  return std::max(kLeastLogs, kMostLogs / static_cast<std::size_t>(ranks));
}

void prepare_host(const TrainerHost& host, const std::vector<std::string>& devices) {
  if (host.options.prepare.empty()) return;
  const std::string& name = host.services.place.host;
  store::AttemptFolder folder(host.services.folder, {});
  const ProcessPlan plan = plan_of(host, folder, devices);
  log::info("preparing " + name + ": " + printable(plan.arguments.front()) + ", log in " + plan.log.string());
  const std::string problem = problem_of(host, plan);
  if (problem.empty()) return;
  std::string kept;
  if (!store::is_empty_folder(folder.temporary())) {
    folder.keep_temporary();
    kept = ", its TMPDIR stays in " + folder.temporary().string() + " until the next job";
  }
  throw UserError("command.prepare: " + problem + " on " + name + ", see " + plan.log.string() + kept +
                  said_in(plan.log, {}));
}

void start_server(TrainerHost& host, const std::vector<std::string>& devices, int rank) {
  const CommandOptions& options = host.options;
  if (!options.forks()) return;
  host.server_folder = std::make_unique<store::AttemptFolder>(host.services.folder, trial::TrialName{});
  ProcessPlan plan = server_plan(host, devices, rank);
  const std::string place = options.python->substr(0, options.python->rfind(':'));
  if (rank == 0) log::info("each rank imports " + printable(place) + ", log in " + plan.log.string());
  host.server = std::make_unique<ForkServer>(std::move(plan), place,
                                             ForkServer::Limits{.trials = options.trials_per_server,
                                                                .import_s = options.prepare_timeout_s,
                                                                .patience_s = store::patience_s()});
  host.server->start(host.services.stop_requested);
}

}  // namespace skyline::evaluate

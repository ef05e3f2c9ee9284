#include "skyline/core/error.hpp"

#include "app/commands/commands.hpp"
#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"
#include "app/job/data_stage.hpp"
#include "app/job/device_choice.hpp"
#include "app/job/job_abort.hpp"
#include "app/job/job_stop.hpp"
#include "app/job/run_preparation.hpp"
#include "app/job/search_job.hpp"
#include "app/job/version_agreement.hpp"
#include "comm/agreement.hpp"
#include "comm/environment.hpp"
#include "core/log.hpp"
#include "engine/loop/run.hpp"
#include "store/publish/patience.hpp"
#include "store/run_folder/journal.hpp"
#include "store/run_folder/run_folder.hpp"
#include "train/device/accelerator.hpp"

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace skyline::app {
namespace {

constexpr int kCoordinator = 0;

/// In front of rank 0's lines: its name, unless everything is on its node.
std::string coordinator_signature(comm::Environment& environment) {
  return environment.place().node_count > 1 ? rank_name(environment) : "";
}

/// Collective: whether all ranks can go on. The first rank's problem, if any, is printed once.
bool all_ready(comm::Environment& environment, const std::string& here) {
  const std::string problem = comm::first_problem(environment.world(), here);
  if (problem.empty()) return true;
  if (environment.world().rank() == comm::kCoordinator) print_error(problem);
  return false;
}

/// What this rank trains with, or why it cannot. The device outlives the evaluator.
struct Trainer {
  ChosenDevice device;
  std::unique_ptr<trial::Evaluator> evaluator;
  std::string problem;
};

engine::EngineOptions engine_options(const SearchArguments& arguments, const RunConfig& config) {
  engine::EngineOptions options = config.engine_options();
  options.coordinator_only = arguments.coordinator_only;
  options.slots = arguments.slots;
  options.resume = arguments.resume;
  return options;
}

store::JournalHeader journal_header(const RunConfig& config, const Trainer& trainer) {
  return {.skyline_version = SKYLINE_VERSION,
          .config_hash = config.identity_hash(),
          .seed = config.engine_options().seed,
          .metrics = trainer.evaluator->metrics(),
          .device = config.training ? device_kind(trainer.device) : ""};
}

/// Rank 0. @return  the job's exit code if it is not kExitDone
int prepare(comm::Environment& environment, const SearchArguments& arguments, JobStop& stop,
            std::optional<PreparedRun>& prepared) {
  const std::string signature = coordinator_signature(environment);
  try {
    prepared = prepare_run(arguments, signature, stop, environment.launch());
    if (!prepared) return kExitStopped;
    log::info(environment.describe());
    stop.announce();
    return kExitDone;
  } catch (const UserError& error) {
    print_error(signature + (signature.empty() ? "" : " ") + error.what());
    return kExitUserError;
  }
}

/// Collective: what asks this rank to end the start: a signal, or the job's time, which rank 0 knows.
std::function<bool()> share_stop(comm::Environment& environment, const JobStop& stop) {
  using Clock = std::chrono::steady_clock;
  const std::optional<double> left_s = comm::share(environment.world(), stop.seconds_left());
  std::optional<Clock::time_point> end;
  if (left_s) end = Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(*left_s));
  return [&stop, end] { return stop.requested() || (end && Clock::now() >= *end); };
}

/// Collective. @param trains  whether this rank trains; else it only predicts costs
/// @param begun  rank 0's: the kind of device that the run began on; empty: not known, or it begins now
Trainer make_trainer(comm::Environment& environment, RunConfig config, bool trains,
                     const std::string& begun) {
  Trainer trainer;
  if (config.training) {
    trainer.device = choose_device(environment, *config.training, begun, trains, train::load_accelerator);
    trainer.problem = trainer.device.problem;
    if (!trainer.problem.empty()) return trainer;
    if (!trains) config.training->precision = train::Precision::kFp32;  // it needs no device that can do more
  }
  try {
    trainer.evaluator = config.make_evaluator(trainer.device.use);
  } catch (const UserError& error) {
    const bool alone = environment.world().size() == 1;
    trainer.problem = (alone ? "" : rank_name(environment) + " ") + error.what();
  }
  return trainer;
}

/// What a rank makes of rank 0's configuration.
struct ParsedConfig {
  RunConfig config;
  std::string problem;
};

ParsedConfig parse_shared(const ConfigNode& tree) {
  ParsedConfig parsed;
  try {
    parsed.config = RunConfig::parse(tree, false);
    store::set_patience(parsed.config.sections.run.storage_patience_s);
    const std::string key = first_identity_difference(tree, parsed.config.resolved);
    if (!key.empty()) parsed.problem = "`" + key + "` is not here what it is on rank 0";
  } catch (const UserError& error) {
    parsed.problem = error.what();
  }
  return parsed;
}

/// What all ranks go on with, unless the exit code is another one than kExitDone.
struct SharedRun {
  int exit_code = kExitUserError;
  RunConfig config;
};

/// Collective: one configuration and the same data on every rank. A problem has been said.
SharedRun share_run(comm::Environment& environment, const SearchArguments& arguments, JobStop& stop,
                    std::optional<PreparedRun>& prepared) {
  comm::Communicator& world = environment.world();
  const bool coordinates = world.rank() == comm::kCoordinator;
  if (!coordinates) log::start({.file = "", .prefix = rank_name(environment)});
  SharedRun shared;
  const int code =
      comm::share(world, coordinates ? prepare(environment, arguments, stop, prepared) : kExitDone);
  if (code != kExitDone) return {code, {}};
  const std::string resolved =
      comm::share(world, prepared ? to_yaml(prepared->config.resolved) : std::string());
  const auto stop_requested = share_stop(environment, stop);
  const ConfigNode tree = load_yaml_text(resolved, store::RunPaths{arguments.run}.config().string());
  const ConfigNode* file = tree.at("data").find("file");
  const auto difference = data_difference(environment, file == nullptr ? "" : file->as_text());
  if (!all_ready(environment, difference.value_or(""))) return shared;
  ParsedConfig parsed;
  if (prepared) {
    parsed.config = prepared->config;
  } else {
    parsed = parse_shared(tree);
    if (!parsed.problem.empty()) parsed.problem = rank_name(environment) + " " + parsed.problem;
  }
  if (!all_ready(environment, parsed.problem)) return shared;
  if (!all_ready(environment, verify_data(environment, parsed.config, stop_requested))) return shared;
  if (!all_ready(environment, stage_data(environment, parsed.config, stop_requested))) return shared;
  return {comm::any(world, stop_requested()) ? kExitStopped : kExitDone, parsed.config};
}

int search_on_ranks(comm::Environment& environment, const SearchArguments& arguments, JobStop& stop) {
  if (const auto difference = version_difference(environment)) {
    if (environment.world().rank() == comm::kCoordinator) {
      print_error("the hosts run different versions: " + *difference + "; install one on all of them");
    }
    return kExitUserError;
  }
  std::optional<PreparedRun> prepared;
  const SharedRun shared = share_run(environment, arguments, stop, prepared);
  if (shared.exit_code == kExitStopped && environment.world().rank() == comm::kCoordinator) {
    std::cout << "skyline: stopped " << stop.cause() << " before the search began: run again with --resume"
              << std::endl;
  }
  if (shared.exit_code != kExitDone) return shared.exit_code;
  const RunConfig& config = shared.config;
  const bool trains = !arguments.coordinator_only || environment.world().rank() != comm::kCoordinator;
  const bool goes_on = prepared && prepared->replay;
  const Trainer trainer =
      make_trainer(environment, config, trains, goes_on ? prepared->replay->header.device : "");
  if (!all_ready(environment, trainer.problem)) return kExitUserError;
  store::StorageThread storage;
  const engine::SearchTask task{config.space, config.objectives, *trainer.evaluator, config.sections.search,
                                engine_options(arguments, config)};
  const engine::RunFiles files{store::RunPaths{arguments.run}, journal_header(config, trainer), storage};
  const engine::JobEnd end{
      .stop_requested = [&stop] { return stop.requested(); },
      .failed = [&environment](const std::exception& error) { end_all_ranks(environment, error); }};
  if (prepared) {
    const int code = search_as_coordinator(environment, task, files, end, std::move(*prepared), config,
                                           arguments.quiet, stop);
    return comm::share(environment.world(), code);
  }
  engine::run(environment, task, files, end);
  return comm::share(environment.world(), kExitDone);  // rank 0 knows whether a stop came too late
}

}  // namespace

int run_search(const SearchArguments& arguments) {
  const auto environment =
      comm::Environment::start({.timeout_s = arguments.start_timeout_s, .timeout_code = kExitFault});
  JobStop stop;  // behind MPI, which may bring handlers of its own
  try {
    const int code = search_on_ranks(*environment, arguments, stop);
    log::stop();
    return code;
  } catch (const std::exception& error) {
    return end_all_ranks(*environment, error);
  }
}

}  // namespace skyline::app

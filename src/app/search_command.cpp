#include "skyline/app/commands.hpp"
#include "skyline/app/config_file.hpp"
#include "skyline/app/run_config.hpp"
#include "skyline/comm/environment.hpp"
#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"
#include "skyline/engine/run.hpp"
#include "skyline/report/report.hpp"
#include "skyline/store/journal.hpp"
#include "skyline/store/publish.hpp"
#include "skyline/store/run_folder.hpp"
#include "skyline/store/run_tables.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr int kCoordinator = 0;

/// What rank 0 finds out before the other ranks are asked to do anything.
struct PreparedRun {
  RunConfig config;
  std::unique_ptr<store::RunClaim> claim;
  std::optional<store::JournalContents> replay;
};

void check_same_run(const store::RunPaths& paths, const RunConfig& config, const std::string& asked_in) {
  const ConfigNode recorded = load_yaml_file(paths.config());
  const std::string key = first_identity_difference(recorded, config.resolved);
  if (key.empty()) return;
  throw UserError("--resume " + paths.root.string() + ": `" + key + "` differs between " +
                  paths.config().string() + " and " + asked_in +
                  "; resume with the configuration that the run was started with");
}

PreparedRun prepare(const SearchArguments& arguments) {
  ConfigNode root = load_yaml_file(arguments.config);
  for (const std::string& assignment : arguments.overrides) apply_override(root, assignment);
  const store::RunPaths paths{arguments.run};
  PreparedRun prepared{RunConfig::parse(root, true), nullptr, std::nullopt};
  const bool exists = std::filesystem::exists(paths.journal());
  if (exists && !arguments.resume) {
    throw UserError(paths.root.string() +
                    " holds a run already: add --resume to go on with it, or name another folder");
  }
  prepared.claim = store::RunClaim::take(paths);
  log::start({.file = paths.log().string(),
              .prefix = "",
              .terminal_level = arguments.quiet ? log::Level::kWarning : log::Level::kInfo});
  const std::size_t removed =
      store::remove_temporaries(paths.root) + store::remove_temporaries(paths.root / "weights");
  if (removed > 0) log::warning("removed " + std::to_string(removed) + " unfinished files of an earlier job");
  if (!exists) {
    if (arguments.resume)
      log::info("nothing to resume in " + paths.root.string() + ": starting from the beginning");
    store::publish_file(paths.config(), to_yaml(prepared.config.resolved));
    return prepared;
  }
  check_same_run(paths, prepared.config, arguments.config.string());
  prepared.replay = store::read_journal(paths.journal(), prepared.config.space);
  if (prepared.replay->torn_tail) log::warning(paths.journal().string() + ": dropped a torn last line");
  log::info("resuming: " + std::to_string(prepared.replay->entries.size()) + " trials are in the journal");
  return prepared;
}

/// Keeps the claim on the run folder alive while the progress is shown.
class ClaimedProgress final : public engine::RunObserver {
 public:
  ClaimedProgress(std::unique_ptr<engine::RunObserver> progress, store::RunClaim& claim)
      : progress_(std::move(progress)), claim_(claim) {}
  void started(const std::vector<engine::SlotAccount>& slots, std::size_t replayed,
               std::size_t expected) override {
    progress_->started(slots, replayed, expected);
  }
  void committed(const objective::CommittedTrial& trial, bool on_front, std::size_t in_flight) override {
    progress_->committed(trial, on_front, in_flight);
  }
  void phase_changed(objective::Phase phase, std::size_t expected) override {
    progress_->phase_changed(phase, expected);
  }
  void tick() override {
    progress_->tick();
    claim_.renew();
  }

 private:
  std::unique_ptr<engine::RunObserver> progress_;
  store::RunClaim& claim_;
};

/// Rank 0 alone reports.
class SilentObserver final : public engine::RunObserver {
 public:
  void started(const std::vector<engine::SlotAccount>&, std::size_t, std::size_t) override {}
  void committed(const objective::CommittedTrial&, bool, std::size_t) override {}
  void phase_changed(objective::Phase, std::size_t) override {}
  void tick() override {}
};

void write_results(const store::RunPaths& paths, const RunConfig& config,
                   const report::ReportInputs& inputs) {
  store::write_run_tables(paths.tables(), inputs.committed, inputs.on_front, inputs.metrics, config.space,
                          to_yaml(config.resolved));
  report::write_models_json(paths, inputs);
  report::write_search_state_csv(paths, inputs);
  report::write_pareto_json(paths, inputs);
}

std::string volume_line(const report::ReportInputs& inputs) {
  const report::FrontVolume volume = report::front_volume(inputs);
  std::string line = "hypervolume " + report::format_number(volume.volume) + " against the point (";
  for (std::size_t i = 0; i < volume.reference.size(); ++i) {
    line += (i == 0 ? "" : ", ") + inputs.objectives.objectives()[i].metric + " " +
            report::format_number(volume.reference[i]);
  }
  return line + ")";
}

void print_results(const store::RunPaths& paths, const report::ReportInputs& inputs,
                   const engine::RunResult& result) {
  const auto failed = std::count_if(inputs.committed.begin(), inputs.committed.end(), [](const auto& trial) {
    return std::holds_alternative<objective::Failure>(trial.outcome);
  });
  std::cout << "\nThe front:\n"
            << report::front_table(inputs) << volume_line(inputs) << "\n\nAccount of time:\n"
            << report::account_table(result.account) << "\nsearch ended: " << result.finish_reason << "\n"
            << "skyline: done: " << inputs.committed.size() << " trials (" << failed
            << " failed), results in " << paths.root.string() << std::endl;
}

engine::RunResult run_engine(comm::Environment& environment, const SearchArguments& arguments,
                             const RunConfig& config, objective::Evaluator& evaluator,
                             PreparedRun* prepared) {
  engine::EngineOptions options = config.engine;
  options.coordinator_only = arguments.coordinator_only;
  options.slots = arguments.slots;
  const store::RunPaths paths{arguments.run};
  const store::JournalHeader header{.skyline_version = SKYLINE_VERSION,
                                    .config_hash = config.identity_hash(),
                                    .seed = options.seed,
                                    .metrics = evaluator.metrics()};
  engine::RunInputs inputs{environment, config.space, config.objectives, evaluator, config.search,
                           options,     paths,        std::nullopt,      header};
  if (prepared == nullptr) {
    SilentObserver silent;
    return engine::run(inputs, silent);
  }
  inputs.replay = std::move(prepared->replay);
  const bool terminal = !arguments.quiet && isatty(STDERR_FILENO) == 1;
  ClaimedProgress progress(
      report::make_progress(paths, config.objectives, config.space, header.metrics, terminal),
      *prepared->claim);
  return engine::run(inputs, progress);
}

/// How a rank signs what it writes, e.g. "[rank 3 node07]".
std::string rank_name(comm::Environment& environment) {
  return "[rank " + std::to_string(environment.world().rank()) + " " + environment.place().host + "]";
}

int search_on_ranks(comm::Environment& environment, const SearchArguments& arguments) {
  comm::Communicator& world = environment.world();
  const bool coordinator = world.rank() == kCoordinator;
  std::optional<PreparedRun> prepared;
  std::string resolved;  // empty: rank 0 found the input wrong and has said so
  if (!coordinator) log::start({.file = "", .prefix = rank_name(environment)});
  if (coordinator) {
    try {
      prepared = prepare(arguments);
      resolved = to_yaml(prepared->config.resolved);
      log::info(environment.describe());
    } catch (const UserError& error) {
      std::cerr << "skyline: " << error.what() << std::endl;
    }
  }
  resolved = comm::broadcast_text(world, std::move(resolved), kCoordinator);
  if (resolved.empty()) return kExitUserError;
  const store::RunPaths paths{arguments.run};
  RunConfig config = coordinator ? std::move(prepared->config)
                                 : RunConfig::parse(load_yaml_text(resolved, paths.config().string()),
                                                    environment.place().local_rank == 0);
  const auto evaluator = config.make_evaluator();
  const engine::RunResult result =
      run_engine(environment, arguments, config, *evaluator, coordinator ? &*prepared : nullptr);
  if (coordinator) {
    const std::vector<std::string> metrics = evaluator->metrics();
    const report::ReportInputs inputs{config.space, config.objectives, metrics, result.committed,
                                      result.on_front};
    write_results(paths, config, inputs);
    print_results(paths, inputs, result);
  }
  return kExitDone;
}

int end_all_ranks(comm::Environment& environment, const std::string& message, int exit_code) {
  std::cerr << "skyline: " << (environment.world().size() > 1 ? rank_name(environment) + " " : "") << message
            << std::endl;
  log::stop();
  environment.abort(exit_code);
  return exit_code;
}

}  // namespace

int run_search(const SearchArguments& arguments) {
  const auto environment = comm::Environment::start();
  try {
    const int code = search_on_ranks(*environment, arguments);
    log::stop();
    return code;
  } catch (const UserError& error) {
    return end_all_ranks(*environment, error.what(), kExitUserError);
  } catch (const std::exception& error) {
    return end_all_ranks(*environment, std::string("internal error: ") + error.what(), kExitBug);
  }
}

}  // namespace skyline::app

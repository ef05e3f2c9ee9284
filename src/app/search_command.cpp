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

void check_not_started(const store::RunPaths& paths, const SearchArguments& arguments) {
  if (arguments.resume || !store::exists(paths.journal())) return;
  throw UserError(paths.root.string() +
                  " holds a run already: add --resume to go on with it, or name another folder");
}

void check_same_run(const store::RunPaths& paths, const RunConfig& config, const std::string& asked_in) {
  const std::string key = first_identity_difference(load_yaml_file(paths.config()), config.resolved);
  if (key.empty()) return;
  throw UserError("--resume " + paths.root.string() + ": `" + key + "` differs between " +
                  paths.config().string() + " and " + asked_in +
                  "; resume with the configuration that the run was started with");
}

store::JournalContents read_own_journal(const store::RunPaths& paths, const RunConfig& config) {
  store::JournalContents contents = store::read_journal(paths.journal(), config.space);
  if (contents.header.config_hash != config.identity_hash()) {
    throw UserError(paths.journal().string() + ": was not written with " + paths.config().string() +
                    ", which has been changed since; restore it, or start a run in another folder");
  }
  if (contents.header.skyline_version != SKYLINE_VERSION) {
    log::warning(paths.journal().string() + ": was begun by version " + contents.header.skyline_version +
                 ", this is " + SKYLINE_VERSION);
  }
  if (contents.torn_tail) log::warning(paths.journal().string() + ": dropped a torn last line");
  log::info("resuming: " + std::to_string(contents.entries.size()) + " trials are in the journal");
  return contents;
}

void clean_up(const store::RunPaths& paths) {
  const std::size_t removed =
      store::remove_temporaries(paths.root) + store::remove_temporaries(paths.root / "weights");
  if (removed > 0) log::warning("removed " + std::to_string(removed) + " unfinished files of an earlier job");
}

PreparedRun prepare(const SearchArguments& arguments) {
  ConfigNode root = load_yaml_file(arguments.config);
  for (const std::string& assignment : arguments.overrides) apply_override(root, assignment);
  const store::RunPaths paths{arguments.run};
  PreparedRun prepared{RunConfig::parse(root, true), nullptr, std::nullopt};
  check_not_started(paths, arguments);  // before the folder is touched
  prepared.claim = store::RunClaim::take(paths);
  check_not_started(paths, arguments);  // another job may have come and gone in between
  log::start({.file = paths.log().string(),
              .prefix = "",
              .terminal_level = arguments.quiet ? log::Level::kWarning : log::Level::kInfo});
  clean_up(paths);
  if (store::exists(paths.journal())) {
    check_same_run(paths, prepared.config, arguments.config.string());
    prepared.replay = read_own_journal(paths, prepared.config);
  } else if (arguments.resume) {
    log::info("nothing to resume in " + paths.root.string() + ": starting from the beginning");
  }
  store::publish_file(paths.config(), to_yaml(prepared.config.resolved));
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

/// How a rank signs what it writes, e.g. "[rank 3 node07]".
std::string rank_name(comm::Environment& environment) {
  return "[rank " + std::to_string(environment.world().rank()) + " " + environment.place().host + "]";
}

int end_all_ranks(comm::Environment& environment, const std::string& message, int exit_code) {
  std::cerr << "skyline: " << (environment.world().size() > 1 ? rank_name(environment) + " " : "") << message
            << std::endl;
  log::stop();
  environment.abort(exit_code);
  return exit_code;
}

int end_all_ranks(comm::Environment& environment, const std::exception& error) {
  if (dynamic_cast<const UserError*>(&error) != nullptr) {
    return end_all_ranks(environment, error.what(), kExitUserError);
  }
  return end_all_ranks(environment, std::string("internal error: ") + error.what(), kExitBug);
}

/// Collective: whether all ranks can go on. The first rank's problem, if any, is printed once.
bool all_ready(comm::Environment& environment, const std::string& problem) {
  comm::Communicator& world = environment.world();
  const std::vector<std::string> problems = comm::gather_texts(world, problem, kCoordinator);
  const auto first =
      std::find_if(problems.begin(), problems.end(), [](const auto& text) { return !text.empty(); });
  if (first != problems.end()) std::cerr << "skyline: " << *first << std::endl;
  return comm::broadcast_text(world, first == problems.end() ? "go" : "stop", kCoordinator) == "go";
}

engine::RunInputs make_inputs(comm::Environment& environment, const SearchArguments& arguments,
                              const RunConfig& config, objective::Evaluator& evaluator,
                              store::StorageThread& storage) {
  engine::EngineOptions options = config.engine;
  options.coordinator_only = arguments.coordinator_only;
  options.slots = arguments.slots;
  const store::JournalHeader header{.skyline_version = SKYLINE_VERSION,
                                    .config_hash = config.identity_hash(),
                                    .seed = options.seed,
                                    .metrics = evaluator.metrics()};
  return {.environment = environment,
          .space = config.space,
          .objectives = config.objectives,
          .evaluator = evaluator,
          .search = config.search,
          .options = options,
          .paths = store::RunPaths{arguments.run},
          .replay = std::nullopt,
          .header = header,
          .storage = storage,
          .failed = [&environment](const std::exception& error) { end_all_ranks(environment, error); }};
}

/// The weights of front members that a later job can no longer find, by name.
void warn_of_missing_weights(const store::RunPaths& paths, const RunConfig& config,
                             const engine::RunResult& result) {
  if (config.engine.keep_weights == engine::KeepWeights::kNone || config.synthetic) return;
  for (std::size_t i = 0; i < result.committed.size(); ++i) {
    if (!result.on_front[i]) continue;
    const auto file = paths.weights(space::to_text(result.committed[i].trial.architecture().id));
    if (!store::exists(file)) log::warning("missing weights of a front member: " + file.string());
  }
}

void search_as_coordinator(engine::RunInputs inputs, PreparedRun prepared, const RunConfig& config,
                           bool quiet) {
  inputs.replay = std::move(prepared.replay);
  const bool terminal = !quiet && isatty(STDERR_FILENO) == 1;
  const std::vector<std::string> metrics = inputs.header.metrics;
  // The end of the progress says "finished" to `skyline status`: it comes after the results are on disk.
  auto progress = std::make_unique<ClaimedProgress>(
      report::make_progress(inputs.paths, config.objectives, config.space, metrics, terminal),
      *prepared.claim);
  const engine::RunResult result = engine::run(inputs, *progress);
  const report::ReportInputs outputs{config.space, config.objectives, metrics, result.committed,
                                     result.on_front};
  write_results(inputs.paths, config, outputs);
  progress.reset();
  warn_of_missing_weights(inputs.paths, config, result);
  print_results(inputs.paths, outputs, result);
}

/// Rank 0's preparation and its resolved configuration on every rank; an empty text: rank 0 found the input
/// wrong.
std::string share_configuration(comm::Environment& environment, const SearchArguments& arguments,
                                std::optional<PreparedRun>& prepared) {
  std::string resolved;
  if (environment.world().rank() == kCoordinator) {
    try {
      prepared = prepare(arguments);
      resolved = to_yaml(prepared->config.resolved);
      log::info(environment.describe());
    } catch (const UserError& error) {
      std::cerr << "skyline: " << error.what() << std::endl;
    }
  } else {
    log::start({.file = "", .prefix = rank_name(environment)});
  }
  return comm::broadcast_text(environment.world(), std::move(resolved), kCoordinator);
}

int search_on_ranks(comm::Environment& environment, const SearchArguments& arguments) {
  std::optional<PreparedRun> prepared;
  const std::string resolved = share_configuration(environment, arguments, prepared);
  if (resolved.empty()) return kExitUserError;
  RunConfig config;
  std::string problem;
  if (prepared) {
    config = prepared->config;
  } else {
    try {
      const std::string name = store::RunPaths{arguments.run}.config().string();
      config = RunConfig::parse(load_yaml_text(resolved, name), environment.place().local_rank == 0);
    } catch (const UserError& error) {
      problem = rank_name(environment) + " " + error.what();
    }
  }
  if (!all_ready(environment, problem)) return kExitUserError;
  const auto evaluator = config.make_evaluator();
  store::StorageThread storage;
  engine::RunInputs inputs = make_inputs(environment, arguments, config, *evaluator, storage);
  if (prepared) {
    search_as_coordinator(std::move(inputs), std::move(*prepared), config, arguments.quiet);
  } else {
    SilentObserver silent;
    engine::run(inputs, silent);
  }
  return kExitDone;
}

}  // namespace

int run_search(const SearchArguments& arguments) {
  const auto environment = comm::Environment::start();
  try {
    const int code = search_on_ranks(*environment, arguments);
    log::stop();
    return code;
  } catch (const std::exception& error) {
    return end_all_ranks(*environment, error);
  }
}

}  // namespace skyline::app

#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/configuration_warnings.hpp"
#include "app/config/run_config.hpp"
#include "app/job/asked.hpp"
#include "app/job/data_stage.hpp"
#include "app/job/host_difference.hpp"
#include "app/job/program_build.hpp"
#include "app/job/search_job.hpp"
#include "app/job/stop_request.hpp"
#include "app/job/watchdog.hpp"
#include "comm/agreement.hpp"
#include "comm/environment.hpp"
#include "core/config/config_text.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/engine_job.hpp"
#include "engine/loop/front_training.hpp"
#include "evaluate/job_ranks.hpp"
#include "machine/node.hpp"
#include "report/text/front_table.hpp"
#include "report/text/status_file.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"
#include "train/loading/training_kind.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

/// Returns the beginning of rank 0's lines: its name, unless all ranks are on its node.
std::string coordinator_signature(comm::Environment& environment) {
  return environment.place().node_count > 1 ? rank_name(environment) : "";
}

/// Returns whether all ranks can continue. The first rank's problem is printed once. Collective.
bool all_ready(comm::Environment& environment, const std::string& here, const std::string& signature = "") {
  const std::string problem = comm::first_problem(environment.world(), here, signature);
  if (problem.empty()) return true;
  if (environment.world().rank() == comm::kCoordinator) print_error(problem);
  return false;
}

engine::EngineOptions engine_options(const SearchArguments& arguments, const RunConfig& config) {
  engine::EngineOptions options = config.engine_options();
  options.coordinator_only = arguments.coordinator_only;
  options.slots = arguments.slots;
  options.resume = arguments.resume != Resume::kNo;
  options.oom_kills = machine::oom_kills_file("/");
  return options;
}

/// Warns about settings that leave slots idle, and says what a volume lacks. Rank 0 calls it.
/// @param slots  number of the job's slots
void warn_of_traps(const RunConfig& config, const search::Searcher& searcher,
                   const trial::Evaluator& evaluator, const std::vector<run::SlotAccount>& slots) {
  std::set<int> ranks;
  for (const run::SlotAccount& slot : slots) ranks.insert(slot.rank);
  const JobSize size{slots.size(), ranks.size()};
  for (const std::string& trap : configuration_warnings(config, searcher, &evaluator, size))
    log::warning(trap);
  if (!config.objectives.has_volume())
    log::info("objectives: " + report::volume_text(run::RunState(config.objectives)));
}

/// The message of rank 0 to all ranks when it has prepared the run.
struct JobStart {
  int exit_code = kExitDone;                // another exit code ends the job
  std::string config = {};                  // the complete configuration
  std::optional<double> seconds_left = {};  // time left for the job; nullopt without a limit
};

template <typename Visitor>
void for_each_field(JobStart& start, Visitor& visit) {
  visit(start.exit_code, start.config, start.seconds_left);
}

/// Prepares the run on rank 0.
JobStart prepare(comm::Environment& environment, const SearchArguments& arguments, StopRequest& stop,
                 std::optional<PreparedRun>& prepared) {
  const std::string signature = coordinator_signature(environment);
  try {
    prepared = prepare_run(arguments, signature, stop, environment.launch());
    if (!prepared) return {.exit_code = kExitStopped};
    log::info(environment.describe());
    log::info("program: " + joined(program_parts()));
    stop.announce();
    return {kExitDone, to_yaml(prepared->config), stop.seconds_left()};
  } catch (const UserError& error) {
    print_error(error, signature);
    return {.exit_code = kExitUserError};
  }
}

/// Returns a function that says whether this rank should end the start, because of a signal or the job's
/// time, which rank 0 knows.
std::function<bool()> stop_of_start(const StopRequest& stop, std::optional<double> left_s) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end;
  if (left_s) end = Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(*left_s));
  return [&stop, end] { return stop.requested() || (end && Clock::now() >= *end); };
}

/// Runs a step of this rank's start. Returns its problem, or an empty text.
std::string problem_of(const std::function<void()>& step) {
  try {
    step();
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

/// The run on which all ranks have agreed. The other members are valid only if the exit code is kExitDone.
struct SharedRun {
  int exit_code = kExitUserError;
  RunConfig config;
  std::function<bool()> stop_requested;  // see stop_of_start
};

/// Makes the evaluator. Returns nullptr if a rank cannot make its own; the problem is then printed.
/// Collective.
/// @param evaluates  whether this rank evaluates; otherwise it only predicts costs
/// @param begun_on   on rank 0: the kind of device on which the run began; empty if it is unknown, or the run
///                   begins now
std::unique_ptr<trial::Evaluator> make_evaluator(comm::Environment& environment,
                                                 const SearchArguments& arguments, const SharedRun& shared,
                                                 bool evaluates, const std::string& begun_on) {
  evaluate::EvaluatorServices services = shared.config.services();
  evaluate::JobRanks ranks(environment);
  services.ranks = &ranks;
  services.place = evaluate::place_of(environment);
  services.evaluates = evaluates;
  services.slots = arguments.slots;
  services.folder = std::filesystem::absolute(arguments.run);
  services.begun_on = begun_on;
  services.stop_requested = shared.stop_requested;
  std::unique_ptr<trial::Evaluator> evaluator;
  const std::string problem = problem_of([&] { evaluator = shared.config.make_evaluator(services); });
  if (!all_ready(environment, problem, rank_name(environment))) return nullptr;
  return evaluator;
}

std::vector<trial::TrialNumber> numbers_of(const run::RunState& state) {
  std::vector<trial::TrialNumber> numbers;
  for (const run::SharedTrial& committed : state.trials()) {
    const bool succeeded = std::holds_alternative<trial::Measurements>(committed->outcome);
    if (!committed->trial.is_final() && succeeded) numbers.push_back(committed->trial.number);
  }
  return numbers;
}

/// Returns the place of the metric that says after how many epochs a training kept its weights.
std::optional<std::size_t> kept_epochs_of(const std::vector<trial::Metric>& metrics) {
  const auto found = std::ranges::find(metrics, train::kKeptEpochs, &trial::Metric::name);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<std::size_t>(found - metrics.begin());
}

/// Gives every rank the same configuration and the same data. A problem has been printed. Collective.
SharedRun share_run(comm::Environment& environment, const SearchArguments& arguments, StopRequest& stop,
                    std::optional<PreparedRun>& prepared) {
  comm::Communicator& world = environment.world();
  const bool coordinates = world.rank() == comm::kCoordinator;
  if (!coordinates) log::start({.file = "", .prefix = rank_name(environment)});
  SharedRun shared;
  JobStart start;
  if (coordinates) start = prepare(environment, arguments, stop, prepared);
  start = comm::share(world, std::move(start));
  if (start.exit_code != kExitDone) return {start.exit_code, {}, {}};
  shared.stop_requested = stop_of_start(stop, start.seconds_left);
  const auto& stop_requested = shared.stop_requested;
  const ConfigNode tree = load_yaml_text(start.config, store::RunPaths{arguments.run}.config().string());
  const auto read = [&] {
    shared.config = RunConfig::read(tree);
    store::set_patience(shared.config.sections.run.storage_patience_s);
  };
  const std::string signature = rank_name(environment);
  RunConfig& config = shared.config;
  if (!all_ready(environment, problem_of(read), signature)) return shared;
  const std::string& file = config.sections.data.file;
  if (!all_ready(environment, data_difference(environment, file).value_or(""))) return shared;
  const auto open_data = [&] {
    if (!file.empty()) config.open_data(tree.at("data"), false);
    if (coordinates) config.open_known(tree);
  };
  if (!all_ready(environment, problem_of(open_data), signature)) return shared;
  if (!all_ready(environment, verify_data(environment, config, stop_requested))) return shared;
  if (!all_ready(environment, stage_data(environment, config, stop_requested))) return shared;
  shared.exit_code = comm::any(world, stop_requested()) ? kExitStopped : kExitDone;
  return shared;
}

/// Returns how the ranks differ in what they run or in what they were asked for, or an empty text.
/// Collective.
std::string difference_of_ranks(comm::Environment& environment, const SearchArguments& arguments) {
  if (const auto difference = version_difference(environment))
    return "the hosts run different versions: " + *difference + "; install one on all of them";
  const std::filesystem::path config =
      arguments.config.empty() ? store::RunPaths{arguments.run}.config() : arguments.config;
  return asked_difference(environment, arguments.words, config, arguments.overrides).value_or("");
}

/// Runs the search. Returns rank 0's exit code, since rank 0 knows whether a stop came too late. Collective.
/// @param prepared  on rank 0: keeps the claim on the folder
int search_on_ranks(comm::Environment& environment, const SearchArguments& arguments, StopRequest& stop,
                    Watchdog& guard, std::optional<PreparedRun>& prepared) {
  if (const std::string problem = difference_of_ranks(environment, arguments); !problem.empty()) {
    if (environment.world().rank() == comm::kCoordinator) print_error(problem);
    return kExitUserError;
  }
  const SharedRun shared = share_run(environment, arguments, stop, prepared);
  const auto stopped = [&] {
    if (environment.world().rank() == comm::kCoordinator)
      print_end("stopped " + stop.cause() + " before the search began: run again with --resume");
    return kExitStopped;
  };
  if (shared.exit_code == kExitStopped) return stopped();
  if (shared.exit_code != kExitDone) return shared.exit_code;
  const RunConfig& config = shared.config;
  guard.set_lost_after(config.sections.run.lost_after_s);
  const bool evaluates = !arguments.coordinator_only || environment.world().rank() != comm::kCoordinator;
  const bool goes_on = prepared && prepared->replay;
  const auto evaluator = make_evaluator(environment, arguments, shared, evaluates,
                                        goes_on ? prepared->replay->header.device : "");
  if (evaluator == nullptr) return kExitUserError;
  if (comm::any(environment.world(), shared.stop_requested())) return stopped();
  auto processors = comm::gather(environment.world(), machine::processor_model("/"));
  if (prepared) prepared->processors = std::move(processors);
  store::StorageThread storage;
  engine::SearchTask task{.space = config.space,
                          .objectives = config.objectives,
                          .evaluator = *evaluator,
                          .search =
                              [&](const run::RunState& state) {
                                auto searcher = prepared && prepared->searcher ? std::move(prepared->searcher)
                                                                               : config.make_searcher();
                                // The window of `train` is that of the run whose trials it trains.
                                if (arguments.beginning == nullptr)
                                  warn_of_traps(config, *searcher, *evaluator, state.account().slots());
                                return searcher;
                              },
                          .full_training = {},
                          .options = engine_options(arguments, config),
                          .place = evaluate::place_of(environment),
                          .repeats = search::repeats_of(config.sections.search)};
  if (const std::optional<trial::Budget> budget = config.final_budget()) {
    task.full_training = [budget, final = *config.sections.final_training,
                          all = config.algorithm().trains_all](const run::RunState& state) {
      const auto numbers =
          all ? numbers_of(state) : search::keys_with_few_ties(state.front(), final.most_tied);
      return engine::front_training(state, numbers, *budget, final.repeats);
    };
    if (config.sections.final_training->refit) {
      task.refit = [kept_epochs = kept_epochs_of(config.metrics)](const run::RunState& state) {
        return engine::front_refit(state, kept_epochs);
      };
    }
  }
  engine::RunFiles files{store::RunPaths{arguments.run}, config.journal_header(*evaluator), storage};
  if (prepared) files.header.programs = prepared->programs;
  const engine::JobCallbacks end{.stop_requested = [&stop] { return stop.requested(); },
                                 .failed =
                                     [&](const std::exception& error) {
                                       const std::optional<engine::Hang> hang = guard.hang();
                                       const int code = guard.exit_code(error);
                                       if (!hang || !hang->of_this_rank)
                                         tell_end(environment, files.paths,
                                                  prepared ? prepared->claim.get() : nullptr,
                                                  {.exit_code = code});
                                       guard.hold();
                                       end_all_ranks(environment, error, code, files.paths.log(), true);
                                     },
                                 .hang = [&guard] { return guard.hang(); },
                                 .has_begun = [&guard] { guard.begin_search(); },
                                 .has_ended = [&guard] { guard.end_search(); }};
  if (prepared) {
    return search_as_coordinator(environment, task, files, end, *prepared, config, arguments.quiet, stop);
  }
  engine::run_job(environment, task, files, end);
  return kExitDone;
}

/// Runs the job of this rank, and ends MPI. Returns the exit code.
int run_job(const std::unique_ptr<comm::Environment> environment, const comm::StartOptions& start,
            const SearchArguments& arguments) {
  StopRequest stop;  // made after MPI, which may install its own handlers
  const store::RunPaths paths{arguments.run};
  Watchdog guard(*environment, start, stop, paths);
  std::optional<PreparedRun> prepared;  // keeps the folder
  const auto claim = [&] { return prepared ? prepared->claim.get() : nullptr; };
  try {
    const int code = search_on_ranks(*environment, arguments, stop, guard, prepared);
    guard.end_job(code);
    const bool progress = code != kExitStopped || (prepared && prepared->progress);
    tell_end(*environment, paths, claim(),
             {.exit_code = code, .out_of_time = stop.out_of_time(), .progress = progress});
    note_exit_code(code);
    log::stop();
    prepared.reset();
    if (environment->launch().survivors_live) {  // a collective call would wait for lost ranks
      comm::flush_streams();
      _exit(exit_code_of_rank(*environment, code));
    }
    guard.end_job(comm::share(environment->world(), code));
    // Ranks that hang are named while the others wait here; later steps could not name them.
    comm::wait(*environment->world().barrier());
    return guard.exit_code();
  } catch (const std::exception& error) {
    tell_end(*environment, paths, claim(), {.exit_code = exit_code_of(error)});
    prepared.reset();  // returns the folder
    return end_all_ranks(*environment, error, exit_code_of(error), paths.log());
  }
}

}  // namespace

int run_search(const SearchArguments& arguments) {
  const comm::StartOptions start{.timeout_s = arguments.start_timeout_s,
                                 .stop_requested = early_signal_noted};
  auto environment = comm::Environment::start(start);
  const bool has_launcher = environment->launch().launcher != comm::Launcher::kNone;
  const int code = run_job(std::move(environment), start, arguments);
  if (!has_launcher) return code;
  // The destructors of LibTorch take a tenth of a second, and mpirun waits for a rank that is suspended
  // there.
  comm::flush_streams();
  _exit(code);
}

RunCommand search_command(CLI::App& command) {
  const auto arguments = std::make_shared<SearchArguments>();
  add_config(command, arguments->config, arguments->overrides);
  command.get_option("config")->required(false);
  add_job(command, *arguments);
  return [arguments, &command] {
    arguments->words = words_of(command);
    return run_search(*arguments);
  };
}

}  // namespace skyline::app

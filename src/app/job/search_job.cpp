#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "app/config/configuration_warnings.hpp"
#include "app/job/data_stage.hpp"
#include "app/job/host_difference.hpp"
#include "app/job/program_build.hpp"
#include "app/job/run_plan.hpp"
#include "app/job/watchdog.hpp"
#include "comm/agreement.hpp"
#include "core/backoff.hpp"
#include "core/config/config_record.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/loop/front_training.hpp"
#include "evaluate/job_ranks.hpp"
#include "machine/node.hpp"
#include "report/text/front_table.hpp"
#include "store/publish/retry_policy.hpp"
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

/// Returns a function that says whether this rank should end the start, because of a signal or the job's
/// time, which rank 0 knows.
std::function<bool()> stop_of_start(const StopRequest& stop, std::optional<double> left_s) {
  return [&stop, left_s, start = std::chrono::steady_clock::now()] {
    return stop.requested() || (left_s && seconds_since(start) >= *left_s);
  };
}

std::vector<trial::TrialNumber> numbers_of(const run::RunState& state) {
  std::vector<trial::TrialNumber> numbers;
  for (const run::SharedTrial& committed : state.trials()) {
    if (!committed->trial.is_final() && trial::is_whole(committed->outcome))
      numbers.push_back(committed->trial.number);
  }
  return numbers;
}

/// Returns the place of the metric that says after how many epochs a training kept its weights.
std::optional<std::size_t> kept_epochs_of(const std::vector<trial::Metric>& metrics) {
  const auto found = std::ranges::find(metrics, train::kKeptEpochs, &trial::Metric::name);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<std::size_t>(found - metrics.begin());
}

/// Returns how the ranks differ in what they run or were asked for, or an empty text. Collective.
std::string difference_of_ranks(comm::Environment& environment, const Asked& asked) {
  if (const auto difference = version_difference(environment))
    return "the hosts run different versions: " + *difference + "; install one on all of them";
  return asked_difference(environment, asked);
}

/// A rank's part of a job, from its start to its end. Making it is collective.
struct SearchJob {
  const SearchArguments& arguments;
  const comm::StartOptions& start;
  const std::unique_ptr<comm::Environment> environment;

  comm::Communicator& world = environment->world();
  const bool coordinates = world.rank() == comm::kCoordinator;
  const store::RunPaths paths{arguments.run};
  StopRequest stop = {};  // made after MPI, which may install its own handlers
  Watchdog guard{*environment, start, stop, paths};
  RunPlan plan = {};                          // keeps the folder
  std::function<bool()> stop_requested = {};  // see stop_of_start

  /// Returns whether all ranks can continue. The first rank's problem is printed once. Collective.
  bool all_ready(const std::string& problem, const std::string& signature = "") {
    const std::string first = comm::first_problem(world, problem, signature);
    if (coordinates && !first.empty()) print_error(first);
    return first.empty();
  }

  /// Runs a step of all ranks' start. Returns whether none has a problem. Collective.
  bool all_do(const std::function<void()>& step) {
    std::string problem;
    try {
      step();
    } catch (const UserError& error) {
      problem = error.what();
    }
    return all_ready(problem, rank_name(*environment));
  }

  /// Makes the plan on rank 0.
  RunPlan make_plan(const Asked& asked) {
    // The beginning of rank 0's lines: its name, unless all ranks are on its node.
    const std::string signature = environment->place().node_count > 1 ? rank_name(*environment) : "";
    try {
      RunPlan made = app::make_plan(arguments, asked, signature, stop, environment->launch());
      if (made.exit_code != kExitDone) return made;
      log::info(environment->describe());
      log::info("program: " + joined(program_parts()));
      stop.announce();
      made.seconds_left = stop.seconds_left();
      return made;
    } catch (const UserError& error) {
      print_error(error, signature);
      return {.exit_code = kExitUserError};
    }
  }

  /// Gives every rank the same data. Collective.
  bool share_data() {
    RunConfig& config = plan.config;
    const bool opens = !config.sections.data.file.empty() && (!coordinates || config.dataset == nullptr);
    if (!all_ready(data_difference(*environment, &config).value_or(""))) return false;
    const auto open_data = [&] {
      if (opens) config.open_data(config.resolved.at("data"));
    };
    return all_do(open_data) && all_ready(verify_data(*environment, config, stop_requested)) &&
           all_ready(stage_data(*environment, config, stop_requested));
  }

  /// Begins the job on all ranks. Returns kExitDone if it has a plan, or else the exit code with which it
  /// ends. Problems have been printed. Collective.
  int begin() {
    const Asked asked = asked_of_rank(arguments);
    if (!all_ready(difference_of_ranks(*environment, asked))) return kExitUserError;
    if (!coordinates) log::start({.file = "", .prefix = rank_name(*environment)});
    if (coordinates) plan = make_plan(asked);
    if (const int code = comm::share(world, plan.exit_code); code != kExitDone) return code;
    stop_requested = stop_of_start(stop, comm::share(world, plan.seconds_left));
    ConfigNode tree = comm::share(world, plan.config.resolved);
    tree.assign_paths();
    const auto read_config = [&] {
      if (!coordinates) plan.config = RunConfig::read(tree);
      store::set_patience(plan.config.sections.run.storage_patience_s);
    };
    if (!all_do(read_config) || !share_data()) return kExitUserError;
    return comm::any(world, stop_requested()) ? kExitStopped : kExitDone;
  }

  /// Makes the evaluator. Returns nullptr if a rank cannot make its own; the problem is then printed.
  /// Collective.
  std::unique_ptr<trial::Evaluator> make_evaluator() {
    evaluate::EvaluatorServices services = plan.config.services();
    evaluate::JobRanks ranks(*environment);
    services.ranks = &ranks;
    services.place = evaluate::place_of(*environment);
    services.evaluates = !arguments.coordinator_only || !coordinates;
    services.slots = arguments.slots;
    services.folder = std::filesystem::absolute(arguments.run);
    services.begun_on = plan.replay ? plan.replay->header.device : "";
    services.stop_requested = stop_requested;
    std::unique_ptr<trial::Evaluator> evaluator;
    const bool ready = all_do([&] { evaluator = plan.config.make_evaluator(services); });
    return ready ? std::move(evaluator) : nullptr;
  }

  engine::SearchTask task_of(trial::Evaluator& evaluator) {
    const RunConfig& config = plan.config;
    const std::optional<FinalOptions>& final = config.sections.final_training;
    engine::SearchTask task{.space = config.space,
                            .objectives = config.objectives,
                            .evaluator = evaluator,
                            .search =
                                [&](const run::RunState& state) {
                                  // The window of `train` is that of the run whose trials it trains.
                                  if (arguments.beginning == nullptr)
                                    warn_of_traps(config, *plan.searcher, evaluator, state.account().slots());
                                  return std::move(plan.searcher);
                                },
                            .full_training = {},
                            .options = config.engine_options(),
                            .place = evaluate::place_of(*environment),
                            .repeats = search::repeats_of(config.sections.search),
                            .pruning = search::pruning_of(config.sections.search),
                            .trains_all = config.algorithm().trains_all,
                            .trains_rivals = final && final->members};
    task.options.coordinator_only = arguments.coordinator_only;
    task.options.slots = arguments.slots;
    task.options.resume = arguments.resume != Resume::kNo;
    task.options.oom_kills = machine::oom_kills_file("/");
    task.options.processor_quota = machine::read_node_limits("/").processor_quota;
    if (!final) return task;
    task.full_training = [&config, &final = *final](const run::RunState& state) {
      const auto numbers =
          config.algorithm().trains_all
              ? numbers_of(state)
              : engine::with_rivals(state, search::keys_with_few_ties(state.front(), final.most_tied),
                                    final.members.value_or(0));
      return engine::front_training(state, numbers, *config.final_budget(), final.repeats);
    };
    if (final->refit) {
      task.refit = [&config](const run::RunState& state) {
        return engine::front_refit(state, kept_epochs_of(config.metrics));
      };
    }
    return task;
  }

  engine::JobCallbacks callbacks() {
    return {.stop_requested = [this] { return stop.requested(); },
            .failed =
                [this](const std::exception& error) {
                  const std::optional<engine::Hang> hang = guard.hang();
                  const int code = guard.exit_code(error);
                  if (!hang || !hang->of_this_rank)
                    tell_end(*environment, paths, plan.claim.get(), {.exit_code = code});
                  guard.hold();
                  end_all_ranks(*environment, error, code, paths.log(), true);
                },
            .hang = [this] { return guard.hang(); },
            .has_begun = [this] { guard.begin_search(); },
            .has_ended = [this] { guard.end_search(); }};
  }

  /// Runs the search. Returns rank 0's end, since rank 0 knows whether a stop came too late. Collective.
  report::JobEnding search() {
    std::unique_ptr<trial::Evaluator> evaluator;
    int code = begin();
    if (code == kExitDone) {
      guard.set_lost_after(plan.config.sections.run.lost_after_s);
      evaluator = make_evaluator();
      if (evaluator == nullptr) return {.exit_code = kExitUserError};
      if (comm::any(world, stop_requested())) code = kExitStopped;
    }
    if (code == kExitStopped && coordinates)
      print_end("stopped " + stop.cause() + " before the search began: run again with --resume");
    if (code != kExitDone) return {.exit_code = code, .progress = code != kExitStopped};
    plan.processors = comm::gather(world, machine::processor_model("/"));
    store::StorageThread storage;
    const engine::SearchTask task = task_of(*evaluator);
    engine::RunFiles files{paths, plan.config.journal_header(*evaluator), storage};
    files.header.programs = plan.programs;
    if (coordinates) return coordinate(*environment, task, files, callbacks(), plan, arguments.quiet, stop);
    engine::run_job(*environment, task, files, callbacks());
    return {};
  }

  /// Runs the job, and ends MPI. Returns the exit code.
  int run() {
    try {
      report::JobEnding ending = search();
      const int code = ending.exit_code;
      guard.end_job(code);
      ending.out_of_time = stop.out_of_time();
      tell_end(*environment, paths, plan.claim.get(), ending);
      note_exit_code(code);
      log::stop();
      plan.claim.reset();
      if (environment->launch().survivors_live) {  // a collective call would wait for lost ranks
        comm::flush_streams();
        _exit(exit_code_of_rank(*environment, code));
      }
      guard.end_job(comm::share(world, code));
      // Ranks that hang are named while the others wait here; later steps could not name them.
      comm::wait(*world.barrier());
      return guard.exit_code();
    } catch (const std::exception& error) {
      tell_end(*environment, paths, plan.claim.get(), {.exit_code = exit_code_of(error)});
      plan.claim.reset();  // returns the folder
      return end_all_ranks(*environment, error, exit_code_of(error), paths.log());
    }
  }
};

}  // namespace

int run_search(const SearchArguments& arguments) {
  const comm::StartOptions start{.timeout_s = arguments.start_timeout_s,
                                 .stop_requested = early_signal_noted};
  auto environment = comm::Environment::start(start);
  const bool has_launcher = environment->launch().launcher != comm::Launcher::kNone;
  const int code = SearchJob{arguments, start, std::move(environment)}.run();
  if (!has_launcher) return code;
  // The destructors of LibTorch take a tenth of a second, and mpirun waits for a rank that is suspended
  // there.
  comm::flush_streams();
  _exit(code);
}

}  // namespace skyline::app

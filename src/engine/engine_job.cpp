#include "engine/engine_job.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/may_block.hpp"
#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "engine/dispatch/fleet_dispatcher.hpp"
#include "engine/dispatch/rank_table.hpp"
#include "engine/group/group_hub.hpp"
#include "engine/loop/replay.hpp"
#include "engine/loop/search_loop.hpp"
#include "engine/slots/crash_signals.hpp"
#include "engine/slots/journal_sink.hpp"
#include "engine/slots/known_values.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/slot_pool.hpp"
#include "engine/slots/suspects.hpp"
#include "engine/weights/parent_exchange.hpp"
#include "engine/weights/weights_keeper.hpp"
#include "engine/work/run_files.hpp"
#include "store/journal/asked_trials.hpp"
#include "store/journal/known_values.hpp"
#include "store/journal/learning_curves.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/running_trials.hpp"

#include <chrono>
#include <filesystem>
#include <span>
#include <utility>

namespace skyline::engine {
namespace {

using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using Listeners = std::vector<run::RunListener*>;

constexpr double kMostSaving_s = 20;

/// Returns the time of the run's clock at the start of this job, the same on all ranks. Collective.
Seconds start_clock(comm::Communicator& world, const std::optional<store::JournalContents>& replay) {
  double earlier_jobs_s = replay ? replayed_seconds(replay->entries) : 0;
  comm::wait(*world.broadcast(std::as_writable_bytes(std::span(&earlier_jobs_s, 1)), 0));
  comm::wait(*world.barrier());  // aligns the ranks' clocks
  return Seconds(earlier_jobs_s);
}

trial::Place place_of(const SearchTask& task) {
  trial::Place place = task.evaluator.place(task.place);
  place.timeout_s = task.options.trial_timeout_s;
  return place;
}

/// Returns the processes of all ranks on rank 0, and that of rank 0 elsewhere. Collective.
std::vector<RankProcess> exchange_processes(comm::Communicator& world) {
  const RankProcess coordinator = comm::share(world, RankProcess::own());
  std::vector<RankProcess> all = comm::gather(world, RankProcess::own());
  return all.empty() ? std::vector{coordinator} : all;
}

/// Makes a sink; a learning curve that cannot be written is logged as a warning.
CourseSink make_course_sink(const RunFiles& files, int rank) {
  return [&files, rank, warning = std::make_shared<RareWarning>()](const store::TrainingKey& training,
                                                                   std::vector<trial::CurvePoint> course,
                                                                   std::function<void()> written) {
    files.storage.submit([paths = files.paths, rank, warning, training, points = std::move(course),
                          done = std::move(written)] {
      try {
        store::append_course(paths, rank, training, points);
      } catch (const Problem& problem) {
        warning->warn(std::string(problem.what()) + "; run.h5 will lack the course of a trial");
      }
      if (done) done();
    });
  };
}

/// Returns whether the first trials all failed, as many as end a search. Those outside of constraints do not
/// count. Lines of the journal that are not committed yet were written with a larger limit, and the search
/// continues after them.
bool only_failed(const run::RunState& state, const std::optional<std::size_t>& most_failures,
                 std::size_t lines) {
  return most_failures && state.failed() >= *most_failures &&
         state.failed() + state.outside() == state.trials().size() && state.replayed() == lines;
}

std::string hopeless_reason(const run::RunState& state) {
  const std::size_t failed = state.failed();
  const std::size_t outside = state.outside();
  return (failed == 1 ? "the first trial" : "the first " + counted(failed, "trial") + " all") + " failed" +
         (outside > 0 ? ", beside " + std::to_string(outside) + " outside of constraints" : "") +
         " (run.most_failures)";
}

/// A rank's part of a job, with all that its main thread works with. Making it is collective.
struct RankJob {
  comm::Environment& environment;
  const SearchTask& task;
  const RunFiles& files;
  const JobCallbacks& end;
  std::optional<store::JournalContents> replay;  // on rank 0: the journal to continue

  comm::Communicator& world = environment.world();
  const int rank = world.rank();
  const EngineOptions& options = task.options;
  const trial::Place place = place_of(task);
  const std::size_t own = own_slots(world, place.processors.size(), options, task.evaluator);
  const RankTable ranks = exchange_ranks(environment, own, place.processors.size(),
                                         fingerprint(task.space, files.header, options));
  const SuspectTrials suspects = find_suspects(world, files.paths, options.resume);
  const Seconds earlier = start_clock(world, replay);
  const Steady::time_point started = Steady::now();
  const std::shared_ptr<store::RunningTrials> running = std::make_shared<store::RunningTrials>(
      files.paths, rank, own, comm::share(world, to_hex(random_token())), options.oom_kills);
  const std::shared_ptr<CheckpointFolder> checkpoints =
      std::make_shared<CheckpointFolder>(files, options.checkpoints, options.resume, rank, running);
  const std::shared_ptr<ResultKeeper> results =
      std::make_shared<ResultKeeper>(files, task.space, rank, options);
  // A slot of several threads is not bound, because all of them would inherit the binding. Neither are slots
  // that mostly wait for a device.
  const bool binds = options.threads_per_slot == 1 && task.evaluator.slots() == 0;
  const std::unique_ptr<GroupHub> groups =
      GroupHub::make(environment, task.evaluator.forms_groups(), place, binds);
  const std::shared_ptr<RecentWeights> recent =
      options.inherit && !options.folders ? std::make_shared<RecentWeights>(options.recent_weights_bytes)
                                          : nullptr;
  const std::shared_ptr<ParentExchange> parents =
      recent ? ParentExchange::make(environment, recent) : nullptr;
  const CrashSignals crashes{*running};
  SlotPool slots{slot_options(), task.evaluator, slot_files()};
  const std::vector<RankProcess> processes = exchange_processes(world);
  FleetChannel mail = make_fleet_channel(environment, options.dispatch, options.window.has_value(),
                                         task.space, most_message_bytes());

  double wall_s() const { return Seconds(Steady::now() - started).count(); }

  std::size_t most_message_bytes() const {
    const std::size_t metrics = files.header.metrics.size();
    const auto together = static_cast<std::size_t>(groups->spans_ranks() ? world.size() : 1);
    const std::size_t bytes = most_mail_bytes(task.space, metrics, together);
    if (!task.pruning) return bytes;
    return bytes + search::most_pruning_bytes(*task.pruning, task.objectives.objectives().size(), metrics);
  }

  SlotPoolOptions slot_options() const {
    return {.engine = options,
            .rank = rank,
            .slots = own,
            .place = place,
            .binds = binds,
            .metrics = files.header.metrics,
            .needed = task.objectives.measured_needed(),
            .groups = groups.get(),
            .run_started = started - std::chrono::duration_cast<Steady::duration>(earlier)};
  }

  SlotFiles slot_files() const {
    SlotFiles kept{.weights = {},
                   .inherited = {},
                   .checkpoints = checkpoints,
                   .results = results,
                   .courses = make_course_sink(files, rank),
                   .running = running,
                   .describe = [&space = task.space](const trial::Trial& trial) {
                     return space.describe(trial.architecture().genotype);
                   }};
    if (options.folders) kept.folders = std::make_shared<TrialFolders>(files, options, rank);
    if (options.keep_weights != KeepWeights::kNone && !options.folders)
      kept.weights = make_weights_sink(files, task.space, recent);
    if (options.inherit && !options.folders)
      kept.inherited = make_weights_source(files, recent, parents, options.inherit_key);
    if (knows_values()) {
      kept.values = std::make_shared<RankValues>(RankValues{files, std::nullopt});
      if (task.pruning) kept.values->comparison.emplace(task.objectives, files.header.metrics);
    }
    return kept;
  }

  /// Returns whether something is known of trials before they end.
  bool knows_values() const { return task.pruning || asks_before(files.header.metrics); }

  /// Returns whether this rank wants the run to stop. Notes the request when it comes, because another
  /// process of the job may have died. The main thread polls it, and must not wait for a file.
  bool stop_requested() const {
    const bool stop = end.stop_requested && end.stop_requested();
    if (stop && running->stops()) files.storage.post([noted = running] { noted->count_last(); });
    return stop;
  }

  /// Checks for what ends the job. @throws FaultError
  void check() const {
    files.storage.rethrow_failure();
    const std::optional<Hang> hang = end.hang ? end.hang() : std::nullopt;
    if (hang) throw FaultError(hang->reason);
  }

  void poll() const {
    check();
    results->write_if_due();
  }

  RunResult run(const Listeners& listeners) {
    if (end.has_begun) end.has_begun();
    try {
      RunResult result = rank == 0 ? coordinate(listeners) : serve();
      if (!mail.outlives_ranks()) {
        groups->close();
        if (parents) parents->close();
      }
      if (end.has_ended) end.has_ended();
      return result;
    } catch (const std::exception& error) {
      if (end.hang && end.hang()) save_running();
      running->close();
      if (mail.outlives_ranks()) mail.tell_of_failure(rank, world.size());
      if (end.failed) end.failed(error);
      throw;
    }
  }

  RunResult empty_result() const {
    RunResult result;
    result.state = run::RunState(task.objectives, task.repeats);
    result.state.account() = run::SlotUsage(slots_of(ranks));
    return result;
  }

  FleetOptions fleet_options(const Listeners& listeners) const {
    return {.engine = options,
            .files = files,
            .ranks = ranks,
            .alone = suspects.alone,
            .listeners = &listeners,
            .processes = processes};
  }

  RunResult coordinate(const Listeners& told) {
    RunResult result = empty_result();
    run::RunState& state = result.state;
    const std::size_t lines = replay ? replay->entries.size() : 0;
    Listeners listeners;
    FleetDispatcher dispatcher(mail, fleet_options(listeners), slots, *results);
    Replay recorded = make_replay();
    JournalSink journal(files, task.space, replay ? &*replay : nullptr, results);
    WeightsRemoval weights(files, options.keep_weights, lines, options.resume, options.folders,
                           task.trains_rivals);
    AskedTrialsWriter asked_trials(files, task.space, lines);
    listeners = {&journal, checkpoints.get(), &weights};
    if (options.window && options.checkpoints) listeners.push_back(&asked_trials);
    KnownValuesRemoval known_values(files, task.trains_all || task.trains_rivals);
    if (knows_values()) listeners.push_back(&known_values);
    listeners.insert(listeners.end(), told.begin(), told.end());
    for (run::RunListener* listener : listeners) listener->started(state);

    TrialMaker maker(options, task.evaluator, state, make_bars());
    const std::unique_ptr<CommitOrder> order = make_commit_order(options);
    SteadyClock clock;
    const auto is_hopeless = [&] { return only_failed(state, options.most_failures, lines); };
    const auto must_stop = [&, stopping = false]() mutable {
      poll();
      return stopping = stopping || is_hopeless() || dispatcher.stop_wanted() || stop_requested();
    };
    SearchLoop loop(maker, recorded, *order, dispatcher, clock, state, listeners, must_stop, is_hopeless);
    std::optional<NeverBlocks> others_wait(std::in_place);
    result.stopped = !search(loop, result) && !is_hopeless();
    if (!result.stopped && is_hopeless()) result.finish_reason = hopeless_reason(state);
    result.progress = state.trials().size() > lines || (options.checkpoints && loop.saved());
    result.retired = dispatcher.retired();
    loop.wind_down([&] { return files.storage.idle(); });
    check();
    dispatcher.finish([&] {
      check();
      for (run::RunListener* listener : listeners) listener->tick(state);
    });
    others_wait.reset();
    remove_remains(dispatcher.lost_ranks(), !result.stopped);
    if (!result.stopped) asked_trials.remove_file();
    result.account = state.account().after(wall_s());
    return result;
  }

  std::optional<search::PruningBars> make_bars() const {
    if (!task.pruning) return std::nullopt;
    return search::PruningBars(*task.pruning, {task.objectives, files.header.metrics});
  }

  Replay make_replay() {
    if (!replay) return {{}, {}, suspects.failed};
    check_same_metrics(replay->header, files.header.metrics);
    trial::ResultsByName waiting = results->recover_results(replay->entries);
    store::AskedTrials asked = call_storage<store::AskedTrials>(files.storage, [&] {
      return store::read_asked_trials(files.paths, files.header, task.space, replay->entries);
    });
    return {std::exchange(replay->entries, {}), std::move(waiting), suspects.failed, std::move(asked)};
  }

  /// Runs the search, then the full training of its front and the refit. Returns whether all were completed.
  bool search(SearchLoop& loop, RunResult& result) const {
    const std::unique_ptr<search::Searcher> searcher = task.search(result.state);
    searcher->think_on([this, allowed = allowed_processors().size()] {
      return think_threads(
          options,
          {.own = place.processors.size(), .allowed = allowed, .slots = own, .under_way = slots.under_way()});
    });
    bool done = loop.run(*searcher, trial::Phase::kSearch);
    for (const SearcherMaker& next : {task.full_training, task.refit}) {
      if (done && next) done = loop.run(*next(result.state), trial::Phase::kFinal);
    }
    if (done) loop.end_replay();
    result.finish_reason = done ? searcher->finish_reason() : "stopped on request";
    result.gave_up = done && searcher->gave_up();
    result.unsaved = loop.unsaved();
    result.begin_again = loop.begin_again();
    return done;
  }

  /// Removes files that no later job needs: of this rank, of lost ranks, and of a run that is complete.
  void remove_remains(bool lost_ranks, bool ended) const {
    const store::RunPaths& paths = files.paths;
    running->remove();
    if (lost_ranks) {
      store::remove_running_trials(paths);
      for (const std::filesystem::path& folder : paths.folders()) store::remove_temporaries(folder);
    }
    if (!ended) return;
    results->remove_files();
    if (task.pruning && !asks_before(files.header.metrics) && rank == 0)
      store::remove_all_known_values(paths);
    if (options.folders) {
      for (const trial::TrialName name : store::trials_with_folders(paths, false)) {
        remove_trial_folders(files, {name});
      }
      files.storage.drain();
    }
    forget_suspects(paths, suspects);
  }

  /// Does the other ranks' part.
  RunResult serve() {
    FleetWorker worker(
        mail, slots, *results, [this] { return stop_requested(); }, processes.at(0), world.size());
    std::optional<NeverBlocks> others_wait(std::in_place);
    worker.serve([this] { poll(); },
                 [this] {
                   poll();
                   const bool idle = files.storage.idle();
                   files.storage.rethrow_failure();
                   return idle;
                 });
    others_wait.reset();
    running->remove();
    worker.close();
    RunResult result;
    result.account.wall_s = wall_s();
    return result;
  }

  /// Has running trials save their state, and waits for a while until all files are written, because a rank
  /// hangs and the job ends. Members of a group whose other members hang save nothing.
  void save_running() {
    const Steady::time_point began = Steady::now();
    slots.request_stop();
    try {
      for (Backoff backoff;; backoff.pause()) {
        const bool idle = slots.under_way() == 0;
        results->write_if_due();
        if (idle && files.storage.idle()) return;
        if (seconds_since(began) > kMostSaving_s) return log::warning("running trials did not save in time");
        slots.take_arrivals();
      }
    } catch (const std::exception& error) {
      log::warning(error.what());
    }
  }
};

}  // namespace

RunResult run_job(comm::Environment& environment, const SearchTask& task, const RunFiles& files,
                  const JobCallbacks& end, std::optional<store::JournalContents> replay,
                  const Listeners& listeners) {
  const log::Background background;
  return RankJob{environment, task, files, end, std::move(replay)}.run(listeners);
}

}  // namespace skyline::engine

#include "engine/engine_job.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/log_background.hpp"
#include "core/system/may_block.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "engine/dispatch/fleet_dispatcher.hpp"
#include "engine/dispatch/rank_table.hpp"
#include "engine/group/group_hub.hpp"
#include "engine/loop/replay.hpp"
#include "engine/loop/search_loop.hpp"
#include "engine/slots/asked_notes.hpp"
#include "engine/slots/crash_signals.hpp"
#include "engine/slots/journal_sink.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/slot_pool.hpp"
#include "engine/slots/suspects.hpp"
#include "engine/weights/parent_exchange.hpp"
#include "engine/weights/weights_keeper.hpp"
#include "engine/work/storage_calls.hpp"
#include "store/journal/asked_trials.hpp"
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

SlotPoolOptions slot_options(int rank, const SearchTask& task, const RunFiles& files,
                             const trial::Place& place, std::size_t slots) {
  SlotPoolOptions options{.engine = task.options};
  options.rank = rank;
  options.place = place;
  options.slots = slots;
  options.metrics = files.header.metrics;
  options.needed = task.objectives.measured_needed();
  // A slot of several threads is not bound, because all of them would inherit the binding. Neither are slots
  // that mostly wait for a device.
  options.binds = task.options.threads_per_slot == 1 && task.evaluator.slots() == 0;
  return options;
}

/// Notes the request to stop when it comes, because another process of the job may have died. The main thread
/// polls it, and must not wait for a file.
std::function<bool()> noted_stop(const std::function<bool()>& requested,
                                 const std::shared_ptr<store::RunningTrials>& running,
                                 store::StorageThread& storage) {
  if (!requested) return {};
  return [requested, running, &storage] {
    const bool stop = requested();
    if (stop && running->stops()) storage.post([running] { running->count_last(); });
    return stop;
  };
}

/// The objects with which a rank's main thread works.
struct Job {
  const SearchTask& task;
  const RunFiles& files;
  const JobCallbacks& end;
  SlotPool& slots;
  std::shared_ptr<CheckpointFolder> checkpoints;
  std::shared_ptr<ResultKeeper> results;
  std::shared_ptr<store::RunningTrials> running;
  const SuspectTrials& suspects;
  FleetChannel& mail;
  const std::vector<RankProcess>& processes;  // on rank 0 of all ranks, elsewhere of rank 0 only
  int ranks;
  Steady::time_point started;

  double wall_s() const { return Seconds(Steady::now() - started).count(); }
  /// Checks for what ends the job. @throws FaultError
  void check() const {
    files.storage.rethrow_failure();
    const std::optional<Hang> hang = end.hang ? end.hang() : std::nullopt;
    if (hang) throw FaultError(hang->reason);
  }
};

/// Has running trials save their state, and waits for a while until all files are written, because a rank
/// hangs and the job ends. Members of a group whose other members hang save nothing.
void save_running(SlotPool& slots, ResultKeeper& results, store::StorageThread& storage) {
  const Steady::time_point began = Steady::now();
  slots.request_stop();
  try {
    for (Backoff backoff;; backoff.pause()) {
      const bool idle = slots.idle();
      results.look_after();
      if (idle && storage.idle()) return;
      if (seconds_since(began) > kMostSaving_s) return log::warning("running trials did not save in time");
      slots.take();
    }
  } catch (const std::exception& error) {
    log::warning(error.what());
  }
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

Replay make_replay(const Job& job, std::optional<store::JournalContents>& replay) {
  if (!replay) return {{}, {}, job.suspects.failed};
  check_same_metrics(replay->header, job.files.header.metrics);
  trial::ResultsByName waiting = job.results->take_over(replay->entries);
  store::AskedTrials asked = call_storage<store::AskedTrials>(job.files.storage, [&] {
    return store::read_asked_trials(job.files.paths, job.files.header, job.task.space, replay->entries);
  });
  return {std::exchange(replay->entries, {}), std::move(waiting), job.suspects.failed, std::move(asked)};
}

/// Returns whether the first trials all failed, as many as end a search. Lines of the journal that are not
/// committed yet were written with a larger limit, and the search continues after them.
bool only_failed(const run::RunState& state, const std::optional<std::size_t>& most_failures,
                 std::size_t lines) {
  const std::size_t committed = state.trials().size();
  return most_failures && committed >= *most_failures && state.failed() == committed &&
         state.replayed() == lines;
}

/// Runs the search, then the full training of its front and the refit. Returns whether all were completed.
bool search(const SearchTask& task, SearchLoop& loop, const run::RunState& state, RunResult& result) {
  const std::unique_ptr<search::Searcher> searcher = task.search(state);
  bool done = loop.run(*searcher, trial::Phase::kSearch);
  for (const SearcherMaker& next : {task.full_training, task.refit}) {
    if (done && next) done = loop.run(*next(state), trial::Phase::kFinal);
  }
  if (done) loop.end_replay();
  result.finish_reason = done ? searcher->finish_reason() : "stopped on request";
  result.gave_up = done && searcher->gave_up();
  return done;
}

std::string hopeless_reason(std::size_t trials) {
  return (trials == 1 ? "the first trial" : "the first " + counted(trials, "trial") + " all") +
         " failed (run.most_failures)";
}

/// Removes files that no later job needs: of this rank, of lost ranks, and of a run that is complete.
void remove_remains(const Job& job, bool lost_ranks, bool ended) {
  const store::RunPaths& paths = job.files.paths;
  job.running->remove();
  if (lost_ranks) {
    store::remove_running_trials(paths);
    for (const std::filesystem::path& folder : paths.folders()) store::remove_temporaries(folder);
  }
  if (!ended) return;
  job.results->remove_files();
  if (job.task.options.folders) {
    for (const trial::TrialName name : store::trials_with_folders(paths, false)) {
      remove_trial_folders(job.files, {name});
    }
    job.files.storage.drain();
  }
  forget_suspects(paths, job.suspects);
}

RunResult coordinate(const Job& job, const RankTable& ranks, std::optional<store::JournalContents> replay,
                     const Listeners& told) {
  store::StorageThread& storage = job.files.storage;
  RunResult result;
  run::RunState& state = result.state;
  state = run::RunState(job.task.objectives, job.task.repeats);
  state.account() = run::SlotUsage(slots_of(ranks));
  const std::size_t lines = replay ? replay->entries.size() : 0;
  const auto is_hopeless = [&] { return only_failed(state, job.task.options.most_failures, lines); };
  Listeners listeners;
  FleetOptions fleet{.engine = job.task.options,
                     .files = job.files,
                     .ranks = ranks,
                     .alone = job.suspects.alone,
                     .listeners = &listeners,
                     .processes = job.processes};
  FleetDispatcher dispatcher(job.mail, std::move(fleet), job.slots, *job.results);
  Replay earlier = make_replay(job, replay);
  JournalSink journal(job.files, job.task.space, replay ? &*replay : nullptr, job.results);
  const EngineOptions& options = job.task.options;
  WeightsRemoval weights(job.files, options.keep_weights, lines, options.resume, options.folders);
  AskedNotes notes(job.files, job.task.space, lines);
  listeners = {&journal, job.checkpoints.get(), &weights};
  if (job.task.options.window && job.task.options.checkpoints) listeners.push_back(&notes);
  listeners.insert(listeners.end(), told.begin(), told.end());
  for (run::RunListener* listener : listeners) listener->started(state);

  TrialMaker maker(job.task.options, job.task.evaluator, state);
  const std::unique_ptr<CommitOrder> order = make_commit_order(job.task.options);
  SteadyClock clock;
  bool stopping = false;
  const auto must_stop = [&] {
    job.check();
    job.results->look_after();
    const bool wanted = is_hopeless() || dispatcher.stop_wanted();
    return stopping = stopping || wanted || (job.end.stop_requested && job.end.stop_requested());
  };
  SearchLoop loop(maker, earlier, *order, dispatcher, clock, state, listeners, must_stop, is_hopeless);
  std::optional<NeverBlocks> others_wait(std::in_place);
  result.stopped = !search(job.task, loop, state, result) && !is_hopeless();
  if (!result.stopped && is_hopeless()) result.finish_reason = hopeless_reason(state.trials().size());
  result.unsaved = loop.unsaved();
  result.begin_again = loop.begin_again();
  result.progress = state.trials().size() > lines || (options.checkpoints && loop.saved());
  result.retired = dispatcher.retired();
  loop.wind_down([&] { return storage.idle(); });
  job.check();
  dispatcher.finish([&] {
    job.check();
    for (run::RunListener* listener : listeners) listener->tick(state);
  });
  others_wait.reset();
  remove_remains(job, dispatcher.lost_ranks(), !result.stopped);
  if (!result.stopped) notes.remove_file();
  result.account = state.account().after(job.wall_s());
  return result;
}

/// Does the other ranks' part.
RunResult serve(const Job& job) {
  store::StorageThread& storage = job.files.storage;
  FleetWorker worker(job.mail, job.slots, *job.results, job.end.stop_requested, job.processes.at(0),
                     job.ranks);
  const auto look_after = [&] {
    job.check();
    job.results->look_after();
  };
  std::optional<NeverBlocks> others_wait(std::in_place);
  worker.serve(look_after, [&] {
    look_after();
    const bool idle = storage.idle();
    storage.rethrow_failure();
    return idle;
  });
  others_wait.reset();
  job.running->remove();
  worker.close();
  RunResult result;
  result.account.wall_s = job.wall_s();
  return result;
}

}  // namespace

RunResult run_job(comm::Environment& environment, const SearchTask& task, const RunFiles& files,
                  const JobCallbacks& end, std::optional<store::JournalContents> replay,
                  const Listeners& listeners) {
  const log::Background background;
  comm::Communicator& world = environment.world();
  const EngineOptions& options = task.options;
  trial::Place place = task.evaluator.place(task.place);
  place.timeout_s = options.trial_timeout_s;
  const std::size_t processors = place.processors.size();
  const std::size_t own = own_slots(world, processors, options, task.evaluator);
  const RankTable ranks =
      exchange_ranks(environment, own, processors, fingerprint(task.space, files.header, options));
  const SuspectTrials suspects = find_suspects(world, files.paths, options.resume);
  const Seconds earlier = start_clock(world, replay);
  const Steady::time_point started = Steady::now();

  SlotPoolOptions pool = slot_options(world.rank(), task, files, place, own);
  pool.run_started = started - std::chrono::duration_cast<Steady::duration>(earlier);
  const auto running = std::make_shared<store::RunningTrials>(
      files.paths, world.rank(), own, comm::share(world, to_hex(random_token())), options.oom_kills);
  const auto checkpoints =
      std::make_shared<CheckpointFolder>(files, options.checkpoints, options.resume, world.rank(), running);
  const auto results = std::make_shared<ResultKeeper>(files, task.space, world.rank(), options);
  const std::unique_ptr<GroupHub> groups =
      GroupHub::make(environment, task.evaluator.forms_groups(), place, pool.binds);
  pool.groups = groups.get();
  const std::shared_ptr<RecentWeights> recent =
      options.inherit && !options.folders ? std::make_shared<RecentWeights>(options.recent_weights_bytes)
                                          : nullptr;
  const std::shared_ptr<ParentExchange> parents =
      recent ? ParentExchange::make(environment, recent) : nullptr;
  SlotFiles kept{.weights = {},
                 .inherited = {},
                 .checkpoints = checkpoints,
                 .results = results,
                 .courses = make_course_sink(files, world.rank()),
                 .running = running};
  kept.describe = [&space = task.space](const trial::Trial& trial) {
    return space.describe(trial.architecture().genotype);
  };
  if (options.folders) kept.folders = std::make_shared<TrialFolders>(files, options, world.rank());
  if (options.keep_weights != KeepWeights::kNone && !options.folders)
    kept.weights = make_weights_sink(files, task.space, recent);
  if (options.inherit && !options.folders)
    kept.inherited = make_weights_source(files, recent, parents, options.inherit_key);
  const CrashSignals crashes(*running);
  SlotPool slots(pool, task.evaluator, std::move(kept));
  JobCallbacks noting = end;
  noting.stop_requested = noted_stop(end.stop_requested, running, files.storage);
  const std::vector<RankProcess> processes = exchange_processes(world);
  const auto together = static_cast<std::size_t>(groups->spans_ranks() ? world.size() : 1);
  FleetChannel mail = make_fleet_channel(environment, options.dispatch, options.window.has_value(),
                                         task.space, pool.metrics.size(), together);
  const Job job{task,    files,    noting, slots,     checkpoints,  results,
                running, suspects, mail,   processes, world.size(), started};
  if (end.has_begun) end.has_begun();
  try {
    RunResult result = world.rank() == 0 ? coordinate(job, ranks, std::move(replay), listeners) : serve(job);
    if (!mail.outlives_ranks()) {
      groups->close();
      if (parents) parents->close();
    }
    if (end.has_ended) end.has_ended();
    return result;
  } catch (const std::exception& error) {
    if (end.hang && end.hang()) save_running(slots, *results, files.storage);
    running->close();
    if (mail.outlives_ranks()) mail.tell_of_failure(world.rank(), world.size());
    if (end.failed) end.failed(error);
    throw;
  }
}

}  // namespace skyline::engine

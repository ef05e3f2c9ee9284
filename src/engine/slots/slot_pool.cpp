#include "engine/slots/slot_pool.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "engine/slots/crash_signals.hpp"
#include "engine/slots/evaluation.hpp"
#include "engine/slots/slot_context.hpp"
#include "trial/refit.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace skyline::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Returns `read` as a function that keeps its error, which is not a failure of the trial, until the
/// evaluation has returned.
template <typename Read>
auto keeping_error(std::exception_ptr& error, Read read) {
  return [&error, read] {
    try {
      return read();
    } catch (...) {
      error = std::current_exception();
      throw;
    }
  };
}

bool failed_by_program(const trial::Outcome& outcome) {
  const auto* failed = std::get_if<trial::Failure>(&outcome);
  return failed != nullptr && failed->kind == trial::FailureKind::kProgram;
}

}  // namespace

struct SlotPool::State : std::enable_shared_from_this<SlotPool::State> {
  State(const SlotPoolOptions& the_options, trial::Evaluator& the_evaluator, SlotFiles the_files)
      : options(the_options),
        evaluator(the_evaluator),
        files(std::move(the_files)),
        deadlines(options.slots, options.stuck_after_s),
        queues(options.slots),
        handing_in_s(options.slots, 0) {}

  /// The queue of one slot, so that work for one slot wakes no other.
  struct SlotQueue {
    std::deque<Assignment> assignments;
    std::condition_variable work_came;
  };

  void serve(std::size_t slot);
  /// Stops and joins the threads that were started.
  void end();
  using Evaluation = std::function<trial::Outcome(SlotContext&)>;

  std::optional<Assignment> next(std::size_t slot);
  Arrival stopped_before_it_began(std::size_t slot, const Assignment& assignment) const;
  void train(std::size_t slot, const Assignment& assignment, SlotCheckpoints* checkpoints, NotedTrial& noted,
             const Evaluation& evaluate);
  void train_members(std::size_t slot, const Assignment& assignment, SlotCheckpoints* checkpoints,
                     MemberThreads& member_threads, NotedTrial& noted);
  void follow(std::size_t slot, const Assignment& assignment, LocalMembers members,
              MemberThreads& member_threads, NotedTrial& noted);
  bool is_given_up(const Assignment& assignment) const;
  bool is_tried_again(const Assignment& assignment, bool overran, trial::Outcome& outcome) const;
  void check_groups() const;
  void check_evaluator() const;
  void account(trial::TrialTiming& timing, std::size_t slot, Clock::time_point begin);
  void hand_in(const trial::Trial& trial, Arrival arrival, SlotContext& context,
               const SlotCheckpoints* checkpoints);
  void keep(const trial::CommittedTrial& result, std::uint32_t attempt, bool at_once, bool has_files) const;
  void trained(const Arrival& arrival);
  void finished(Arrival arrival);
  void warn_of_stuck_trials();

  const SlotPoolOptions options;
  trial::Evaluator& evaluator;
  const SlotFiles files;
  std::atomic<bool> stop{false};  // set when running trials must stop
  SlotDeadlines deadlines;
  std::mutex mutex;               // guards all members below
  bool ended = false;             // whether no more trials begin
  std::vector<SlotQueue> queues;  // [slots]
  std::size_t under_way = 0;      // number of submitted trials without a result
  std::vector<Arrival> results;
  std::vector<TrainedPart> parts;  // parts of trials whose results are not there yet
  std::exception_ptr failure;
  std::vector<std::thread> threads;  // used by the main thread only
  std::vector<double> handing_in_s;  // [slots] times of the slot's last trial; used only by its thread
};

std::optional<Assignment> SlotPool::State::next(std::size_t slot) {
  std::unique_lock lock(mutex);
  SlotQueue& queue = queues[slot];
  queue.work_came.wait(lock, [&] { return ended || !queue.assignments.empty(); });
  if (ended) return std::nullopt;
  Assignment assignment = std::move(queue.assignments.front());
  queue.assignments.pop_front();
  return assignment;
}

void SlotPool::State::serve(std::size_t slot) {
  const SignalStack signals;
  try {
    const std::vector<int> processors = options.binds ? options.place.processors : std::vector<int>();
    if (!processors.empty() && !bind_this_thread(processors[slot % processors.size()])) {
      log::warning("slot " + std::to_string(slot) + " could not be bound to processor " +
                   std::to_string(processors[slot % processors.size()]));
    }
    std::optional<SlotCheckpoints> checkpoints;
    if (files.checkpoints) checkpoints.emplace(files.checkpoints, stop, files.folders != nullptr);
    SlotCheckpoints* const own_checkpoints = checkpoints ? &*checkpoints : nullptr;
    MemberThreads member_threads(processors);
    while (const std::optional<Assignment> assignment = next(slot)) {
      const trial::Trial& trial = *assignment->trial;
      NotedTrial noted(files.running.get(), slot, trial, files.describe);
      if (assignment->group) {
        train_members(slot, *assignment, own_checkpoints, member_threads, noted);
      } else if (stop) {
        noted.end();
        finished(stopped_before_it_began(slot, *assignment));
      } else {
        train(slot, *assignment, own_checkpoints, noted, [&](SlotContext& context) {
          const RunningMember running(deadlines[slot]);
          return evaluate_safely(evaluator, trial, context);
        });
      }
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
  }
}

Arrival SlotPool::State::stopped_before_it_began(std::size_t slot, const Assignment& assignment) const {
  Arrival arrival{
      assignment.trial->name(), trial::Failure{trial::FailureKind::kStopped, "stopped on request"}, {}};
  arrival.attempt = assignment.attempt;
  arrival.timing.rank = options.rank;
  arrival.timing.slot = static_cast<std::int32_t>(slot);
  return arrival;
}

void SlotPool::State::train(std::size_t slot, const Assignment& assignment, SlotCheckpoints* checkpoints,
                            NotedTrial& noted, const Evaluation& evaluate) {
  const trial::Trial& trial = *assignment.trial;
  const Clock::time_point started = Clock::now();
  deadlines.begin(slot, trial.name(), options.engine.trial_timeout_s, false);
  SlotContext context(place_of_thread(options.place, options.binds, slot), stop, checkpoints,
                      files.weights && trial::leaves_model(trial), deadlines[slot], assignment.last_failure);
  context.show_points([&noted](const trial::CurvePoint& point) { noted.reports(point); });
  trial::TrialTiming& timing = context.timing();
  if (checkpoints != nullptr) {
    const trial::ScopeTimer timer(timing, &trial::TrialTiming::wait_files_s);
    checkpoints->begin(trial, assignment.attempt);
  }
  std::exception_ptr unreadable;
  if (files.inherited && trial.inherits()) {
    context.inherit(keeping_error(unreadable, [&] { return files.inherited(trial, stop, timing); }));
  }
  if (files.folders) {
    context.make_folder(
        keeping_error(unreadable, [&] { return files.folders->begin(trial, assignment.losses, stop); }));
  }
  std::optional<KnownValues> known;
  std::optional<SlotPruning> pruning;
  if (files.values) context.know(known.emplace(files.values, trial));
  if (known && !trial.bars.empty()) context.compare_by(pruning.emplace(*known));
  Arrival arrival{trial.name(), evaluate(context), timing};
  noted.end();
  const bool overran = deadlines[slot].left_s().value_or(0) < 0;
  if (pruning) pruning->complete(arrival.outcome, overran && !stop);
  arrival.attempt = assignment.attempt;
  if (unreadable) std::rethrow_exception(unreadable);
  if (std::holds_alternative<trial::Failure>(arrival.outcome)) check_evaluator();
  account(arrival.timing, slot, started);
  if (is_given_up(assignment)) {
    arrival.follower = true;
    return finished(std::move(arrival));
  }
  arrival.again = is_tried_again(assignment, overran, arrival.outcome);
  arrival.in_doubt = assignment.in_doubt && !arrival.again && failed_by_program(arrival.outcome);
  // A refit is compared with nothing.
  check_outcome(arrival.outcome, options.metrics,
                trial::is_refit(trial) ? std::vector<std::string>() : options.needed);
  const bool has_ended = !arrival.again && !arrival.in_doubt && !arrival.stopped();
  if (has_ended && context.made_folder()) {
    files.folders->end(trial, *context.made_folder(), arrival.outcome);
  }
  const Clock::time_point done = Clock::now();
  hand_in(trial, std::move(arrival), context, checkpoints);
  handing_in_s[slot] = seconds_since(done);
}

/// Trains this rank's members of a group. Members of other ranks may already wait for these, so even at a
/// stop all must come, so that the others hear of it.
void SlotPool::State::train_members(std::size_t slot, const Assignment& assignment,
                                    SlotCheckpoints* checkpoints, MemberThreads& member_threads,
                                    NotedTrial& noted) {
  require(options.groups != nullptr, "a trial has several members in a run without groups");
  const trial::Trial& trial = *assignment.trial;
  const auto members = options.groups->join(*assignment.group);
  if (members.front()->member() != 0) return follow(slot, assignment, members, member_threads, noted);
  const bool begins = !stop;
  train(slot, assignment, begins ? checkpoints : nullptr, noted, [&](SlotContext& context) {
    context.lead(*members.front());
    trial::Outcome outcome =
        evaluate_together(evaluator, trial, members, context, begins, deadlines[slot], member_threads);
    check_groups();
    return outcome;
  });
}

void SlotPool::State::follow(std::size_t slot, const Assignment& assignment, LocalMembers members,
                             MemberThreads& member_threads, NotedTrial& noted) {
  const trial::Trial& trial = *assignment.trial;
  const Clock::time_point started = Clock::now();
  deadlines.begin(slot, trial.name(), options.engine.trial_timeout_s, true);
  MemberContext context(*members.front(), deadlines[slot], assignment.last_failure);
  evaluate_together(evaluator, trial, members, context, true, deadlines[slot], member_threads);
  check_groups();
  check_evaluator();
  Arrival arrival{trial.name(), trial::Measurements{}, context.timing()};
  arrival.follower = true;
  arrival.attempt = assignment.attempt;
  account(arrival.timing, slot, started);
  noted.end();
  finished(std::move(arrival));
}

/// Returns whether a rank of its group is lost, so that its outcome does not count.
bool SlotPool::State::is_given_up(const Assignment& assignment) const {
  return assignment.group && options.groups->gave_up(assignment.group->sequence);
}

/// Returns whether the trial has failed, and another try may cure that.
bool SlotPool::State::is_tried_again(const Assignment& assignment, bool overran,
                                     trial::Outcome& outcome) const {
  auto* failed = std::get_if<trial::Failure>(&outcome);
  if (failed == nullptr) return false;
  if (failed->kind == trial::FailureKind::kStopped) {
    if (stop) return false;
    require(overran, "the evaluator stopped a trial that nobody had asked to stop");
    *failed = took_too_long();
  }
  if (failed->is_of_storage()) {
    if (stop) *failed = {trial::FailureKind::kStopped, "stopped on request"};
    return !stop;
  }
  return evaluator.tries_again(*failed, assignment.tried);
}

/// Checks for a member that fell silent. That is not a failure of the trial: the run must end.
void SlotPool::State::check_groups() const {
  if (const std::optional<std::string> fault = options.groups->fault()) throw FaultError(*fault);
}

/// Checks for a fault that would fail every trial. That is no trial's fault: the run must end.
void SlotPool::State::check_evaluator() const {
  if (const std::exception_ptr fault = evaluator.fault()) std::rethrow_exception(fault);
}

/// Time that the evaluator did not account for is set-up, even if the trial threw. If it accounted for none,
/// all of it is training.
void SlotPool::State::account(trial::TrialTiming& timing, std::size_t slot, Clock::time_point begin) {
  timing.rank = options.rank;
  timing.slot = static_cast<std::int32_t>(slot);
  timing.started_s = Seconds(begin - options.run_started).count() + timing.wait_device_s;
  timing.wait_hand_in_s = std::exchange(handing_in_s[slot], 0);
  const double working_s = timing.train_s + timing.validate_s + timing.latency_s;
  const double rest_s = std::max(0.0, seconds_since(begin) - timing.waited_s() - working_s);
  const bool is_told = working_s > 0 || timing.setup_s > 0;
  (is_told ? timing.setup_s : timing.train_s) = rest_s;
}

/// Hands the result in after the trial's files are written: its journal line must find the weights and the
/// kept state, and rank 0 may then remove its checkpoints. A failure in doubt may be no result, so it is not
/// kept here.
void SlotPool::State::hand_in(const trial::Trial& trial, Arrival arrival, SlotContext& context,
                              const SlotCheckpoints* checkpoints) {
  if (arrival.stopped() || arrival.again) {
    arrival.unsaved = checkpoints != nullptr && !checkpoints->all_is_saved();
    arrival.begins_again = checkpoints != nullptr && !arrival.unsaved && !checkpoints->has_files() &&
                           arrival.timing.train_s > 0 &&
                           !(context.made_folder() && context.made_folder()->holds_files());
    return finished(std::move(arrival));
  }
  std::vector<trial::NamedTensor> kept = context.take_weights();
  if (!trial::is_whole(arrival.outcome)) kept.clear();
  std::vector<trial::CurvePoint> course = context.take_course();
  const bool has_course = files.courses && !course.empty();
  const store::TrainingKey training{trial.name(), arrival.timing.started_s};
  if (arrival.in_doubt) {
    if (has_course) files.courses(training, std::move(course), nullptr);
    return finished(std::move(arrival));
  }
  const bool at_once = checkpoints != nullptr && checkpoints->result_worth_keeping();
  const bool has_files = checkpoints != nullptr && checkpoints->has_files();
  const bool stored = at_once || (checkpoints != nullptr && checkpoints->keeps_last());
  if (stored || has_course || !kept.empty()) trained(arrival);
  std::function<void()> last_job = [self = shared_from_this(), trial, result = std::move(arrival), at_once,
                                    has_files] {
    self->keep({trial, result.outcome, result.timing}, result.attempt, at_once, has_files);
    self->finished(result);
  };
  if (has_course) {
    files.courses(training, std::move(course), kept.empty() ? std::exchange(last_job, {}) : nullptr);
  }
  if (!last_job) return;
  if (!kept.empty()) {
    files.weights(trial, std::move(kept), context.take_answers(), std::move(last_job));
  } else if (stored) {
    files.checkpoints->storage().submit(std::move(last_job));
  } else {
    last_job();
  }
}

/// Keeps a result. A result that is in a file needs no checkpoints any more.
void SlotPool::State::keep(const trial::CommittedTrial& result, std::uint32_t attempt, bool at_once,
                           bool has_files) const {
  if (!files.results) return;
  files.results->add(result);
  const bool written = at_once && files.results->write();
  if (!has_files) return;
  if (written) {
    files.checkpoints->remove_now(result.trial.name(), attempt + 1);
  } else {
    files.results->leaves_checkpoint(result.trial.name());
  }
}

void SlotPool::State::trained(const Arrival& arrival) {
  const std::lock_guard lock(mutex);
  parts.push_back({arrival.trial, static_cast<std::size_t>(arrival.timing.slot), arrival.whole_s()});
}

void SlotPool::State::finished(Arrival arrival) {
  const std::lock_guard lock(mutex);
  results.push_back(std::move(arrival));
  --under_way;
}

void SlotPool::State::warn_of_stuck_trials() {
  for (const SlotDeadlines::Stuck& stuck : deadlines.take_stuck()) {
    log::warning("trial " + to_text(stuck.trial) + " in slot " + std::to_string(stuck.slot) +
                 " takes longer than run.trial_timeout and does not stop");
    if (!files.running || !files.checkpoints) continue;
    files.checkpoints->storage().post(
        [running = files.running, stuck] { running->is_overdue(stuck.slot, stuck.trial); });
  }
}

void SlotPool::State::end() {
  {
    const std::lock_guard lock(mutex);
    stop = true;
    ended = true;
  }
  for (SlotQueue& queue : queues) queue.work_came.notify_one();
  for (std::thread& thread : threads) thread.join();
}

SlotPool::SlotPool(const SlotPoolOptions& options, trial::Evaluator& evaluator, SlotFiles files)
    : state_(std::make_shared<State>(options, evaluator, std::move(files))) {
  try {
    for (std::size_t slot = 0; slot < options.slots; ++slot) {
      state_->threads.emplace_back([state = state_.get(), slot] { state->serve(slot); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = state_->threads.size();
    state_->end();
    throw UserError("cannot start " + std::to_string(options.slots) + " slots: after " +
                    std::to_string(started) + " " + error_text(error) + "; ask for fewer with --slots");
  }
}

SlotPool::~SlotPool() {
  state_->end();
}

std::size_t SlotPool::slots() const {
  return state_->options.slots;
}

void SlotPool::submit(std::size_t slot, Assignment assignment) {
  State::SlotQueue& queue = state_->queues.at(slot);
  {
    const std::lock_guard lock(state_->mutex);
    queue.assignments.push_back(std::move(assignment));
    ++state_->under_way;
  }
  queue.work_came.notify_one();
}

void SlotPool::give_up(std::uint64_t sequence) {
  state_->options.groups->give_up(sequence);
}

void SlotPool::request_stop() {
  if (state_->stop.exchange(true)) return;
  if (state_->files.checkpoints) state_->files.checkpoints->stop();
  if (state_->files.results) state_->files.results->stop();
}

std::vector<Arrival> SlotPool::take_arrivals() {
  state_->warn_of_stuck_trials();
  if (state_->options.groups != nullptr) state_->options.groups->send_heartbeat();
  const std::lock_guard lock(state_->mutex);
  if (state_->failure) std::rethrow_exception(state_->failure);
  return std::exchange(state_->results, {});
}

std::size_t SlotPool::under_way() const {
  const std::lock_guard lock(state_->mutex);
  return state_->under_way;
}

std::optional<trial::TrialName> SlotPool::stuck() const {
  const std::vector<SlotDeadlines::Stuck> stuck = state_->deadlines.stuck();
  if (stuck.empty()) return std::nullopt;
  return stuck.front().trial;
}

std::vector<TrainedPart> SlotPool::take_trained() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->parts, {});
}

}  // namespace skyline::engine

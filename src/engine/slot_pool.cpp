#include "engine/slot_pool.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"
#include "skyline/core/processors.hpp"

#include "engine/records.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace skyline::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

class SlotContext final : public objective::EvaluationContext {
 public:
  SlotContext(const std::atomic<bool>& stop, bool wants_weights)
      : stop_(stop), wants_weights_(wants_weights) {}
  bool stop_requested() const override { return stop_.load(std::memory_order_relaxed); }
  void progress(double) override {}  // a run shows its trials, not the share of one
  bool wants_weights() const override { return wants_weights_; }
  void keep_weights(std::vector<objective::NamedTensor> weights) override {
    if (wants_weights_) weights_ = std::move(weights);
  }
  objective::TrialTiming& timing() override { return timing_; }

  std::vector<objective::NamedTensor> take_weights() { return std::move(weights_); }

 private:
  const std::atomic<bool>& stop_;
  bool wants_weights_;
  std::vector<objective::NamedTensor> weights_;
  objective::TrialTiming timing_;
};

objective::Outcome evaluate_safely(objective::Evaluator& evaluator, const objective::Trial& trial,
                                   objective::EvaluationContext& context) {
  using objective::Failure;
  using objective::FailureKind;
  try {
    return evaluator.evaluate(trial, context);
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::kOutOfMemory, "out of memory"};
  } catch (const std::exception& error) {
    return Failure{FailureKind::kException, error.what()};
  } catch (...) {
    return Failure{FailureKind::kException, "an exception of unknown type"};
  }
}

}  // namespace

struct SlotPool::State : std::enable_shared_from_this<SlotPool::State> {
  State(const SlotPoolOptions& the_options, objective::Evaluator& the_evaluator, WeightsSink the_weights)
      : options(the_options),
        evaluator(the_evaluator),
        weights(std::move(the_weights)),
        queues(options.slots) {}

  void serve(std::size_t slot);
  /// Stops and joins the threads that were started.
  void end();
  std::optional<objective::Trial> next(std::size_t slot);
  Arrival stopped_before_it_began(std::size_t slot, objective::TrialNumber number) const;
  void train(std::size_t slot, const objective::Trial& trial);
  void finished(Arrival arrival);

  const SlotPoolOptions options;
  objective::Evaluator& evaluator;
  const WeightsSink weights;
  std::atomic<bool> stop{false};  // asked of trials
  std::mutex mutex;               // of all below
  bool ended = false;             // no more trials begin
  std::condition_variable work_came;
  std::vector<std::deque<objective::Trial>> queues;
  std::vector<Arrival> results;
  std::exception_ptr failure;
  std::vector<std::thread> threads;  // used by the main thread alone
};

std::optional<objective::Trial> SlotPool::State::next(std::size_t slot) {
  std::unique_lock lock(mutex);
  work_came.wait(lock, [&] { return ended || !queues[slot].empty(); });
  if (ended) return std::nullopt;
  objective::Trial trial = std::move(queues[slot].front());
  queues[slot].pop_front();
  return trial;
}

void SlotPool::State::serve(std::size_t slot) {
  try {
    const std::vector<int>& processors = options.processors;
    if (!processors.empty() && !bind_this_thread(processors[slot % processors.size()])) {
      log::warning("slot " + std::to_string(slot) + " could not be bound to processor " +
                   std::to_string(processors[slot % processors.size()]));
    }
    while (const std::optional<objective::Trial> trial = next(slot)) {
      if (stop) {
        finished(stopped_before_it_began(slot, trial->number));
      } else {
        train(slot, *trial);
      }
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
  }
}

Arrival SlotPool::State::stopped_before_it_began(std::size_t slot, objective::TrialNumber number) const {
  Arrival arrival{number, objective::Failure{objective::FailureKind::kStopped, "stopped on request"}, {}};
  arrival.timing.rank = options.rank;
  arrival.timing.slot = static_cast<std::int32_t>(slot);
  return arrival;
}

void SlotPool::State::train(std::size_t slot, const objective::Trial& trial) {
  SlotContext context(stop, static_cast<bool>(weights));
  const Clock::time_point begin = Clock::now();
  Arrival arrival{trial.number, evaluate_safely(evaluator, trial, context), context.timing()};
  // Set-up is by definition what the evaluator did not account for otherwise, a trial that threw included.
  objective::TrialTiming& timing = arrival.timing;
  timing.rank = options.rank;
  timing.slot = static_cast<std::int32_t>(slot);
  timing.started_s = seconds_between(options.run_started, begin);
  timing.setup_s = std::max(
      0.0, seconds_between(begin, Clock::now()) - timing.train_s - timing.validate_s - timing.latency_s);

  std::vector<objective::NamedTensor> kept = context.take_weights();
  if (auto* failed = std::get_if<objective::Failure>(&arrival.outcome)) {
    require(stop || failed->kind != objective::FailureKind::kStopped,
            "the evaluator stopped a trial that nobody had asked to stop");
    failed->reason = fit_reason(failed->reason);
    kept.clear();
  } else {
    require(std::get<objective::Measurements>(arrival.outcome).values.size() == options.metrics,
            "the evaluator returned another number of values than it has metrics");
  }
  if (kept.empty()) {
    finished(std::move(arrival));
  } else {
    weights(trial, std::move(kept),
            [self = shared_from_this(), result = std::move(arrival)] { self->finished(result); });
  }
}

void SlotPool::State::finished(Arrival arrival) {
  const std::lock_guard lock(mutex);
  results.push_back(std::move(arrival));
}

void SlotPool::State::end() {
  {
    const std::lock_guard lock(mutex);
    stop = true;
    ended = true;
  }
  work_came.notify_all();
  for (std::thread& thread : threads) thread.join();
}

SlotPool::SlotPool(const SlotPoolOptions& options, objective::Evaluator& evaluator, WeightsSink weights)
    : state_(std::make_shared<State>(options, evaluator, std::move(weights))) {
  try {
    for (std::size_t slot = 0; slot < options.slots; ++slot) {
      state_->threads.emplace_back([state = state_.get(), slot] { state->serve(slot); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = state_->threads.size();
    state_->end();
    throw UserError("cannot start " + std::to_string(options.slots) +
                    " slots: the system refused a thread after " + std::to_string(started) + " (" +
                    error.what() + "); ask for fewer with --slots");
  }
}

SlotPool::~SlotPool() {
  state_->end();
}

std::size_t SlotPool::slots() const {
  return state_->options.slots;
}

void SlotPool::submit(std::size_t slot, objective::Trial trial) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queues.at(slot).push_back(std::move(trial));
  }
  state_->work_came.notify_all();
}

void SlotPool::request_stop() {
  state_->stop = true;
}

std::vector<Arrival> SlotPool::take() {
  const std::lock_guard lock(state_->mutex);
  if (state_->failure) std::rethrow_exception(state_->failure);
  return std::exchange(state_->results, {});
}

}  // namespace skyline::engine

#include "train/evaluator/training_evaluator.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "train/batches/device_dataset.hpp"
#include "train/device/memory_pool.hpp"
#include "train/evaluator/trial_failure.hpp"
#include "train/loading/training_forecast.hpp"
#include "train/loop/latency.hpp"
#include "train/loop/training_loop.hpp"
#include "train/sharing/admitted_training.hpp"
#include "train/sharing/node_memory_limiter.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

namespace skyline::train {
namespace {

using trial::Failure;
using trial::FailureKind;
using trial::Outcome;

constexpr double kShortestMeasurement_s = 0.05;  // one latency takes longer than another program's time slice
constexpr double kLongestRound_s = 20;  // limit for all latencies: the end of a search waits for them

/// Memory of a trial that a slot keeps for the next one: enough for parameters and a small network's
/// activations, but little compared with a trial.
constexpr std::size_t kPooledBetweenTrials = std::size_t{64} << 20;

/// Sets LibTorch's threads. One number belongs to the calling thread, the other to the process.
void set_threads(int threads) {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      at::set_num_interop_threads(1);
    } catch (const c10::Error&) {
      // LibTorch accepts one call per process, and someone else has made it.
    }
  });
  thread_local int current = 0;
  if (current != threads) {
    at::set_num_threads(threads);
    current = threads;
  }
}

/// Returns whether two members are of one process, and so of one device; the same on all members.
bool share_processes(const trial::TrialGroup& group) {
  std::set<std::pair<int, int>> processes;
  for (std::size_t member = 0; member < group.members(); ++member) {
    const trial::Place place = group.place_of(member);
    processes.emplace(place.node, place.node_rank);
  }
  return processes.size() < group.members();
}

class TrainingEvaluator final : public TrainingForecast {
 public:
  TrainingEvaluator(const TrainingOptions& options, TrainingSetup setup,
                    std::shared_ptr<const NodeMemoryLimiter> memory)
      : TrainingForecast(options, *setup.dataset, setup.split, setup.device.on_gpus),
        setup_(std::move(setup)),
        memory_(std::move(memory)) {}

  std::size_t slots() const override { return setup_.device.accelerator == nullptr ? 0 : kMostOnDevice; }

  trial::Place place(trial::Place rank) const override {
    const DeviceUse& use = setup_.device;
    const auto device = static_cast<std::size_t>(use.device);
    std::vector<std::string> devices;
    if (use.accelerator != nullptr) {
      devices.push_back(device < rank.devices.size() ? rank.devices[device] : std::to_string(use.device));
    }
    rank.devices = std::move(devices);
    if (!use.processors.empty()) rank.processors = use.processors;
    if (memory_ != nullptr) rank.memory_bytes = memory_->share();
    return rank;
  }

  std::exception_ptr fault() override {
    try {
      check_data_unchanged();
    } catch (const UserError&) {
      return std::current_exception();
    }
    const auto lost = device_fault();
    return lost ? std::make_exception_ptr(FaultError(*lost)) : nullptr;
  }

  /// What lacked an algorithm gets one more try, which may use any.
  bool tries_again(const Failure& failure, std::uint32_t tried) const override {
    return Evaluator::tries_again(failure, tried) || (lacked_algorithm(failure.reason) && tried == 1);
  }

  Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    const auto start = std::chrono::steady_clock::now();
    trial::TrialTiming& timing = context.timing();
    const double waited_s = timing.waited_s();
    timing.train_s = 0;
    timing.validate_s = 0;
    timing.latency_s = 0;
    Curve course;
    Outcome outcome = setup_.device.accelerator == nullptr ? attempt_in_memory(trial, context, course)
                                                           : attempt_in_turn(trial, context, course);
    for (trial::CurvePoint& point : course) context.report(std::move(point));
    if (const auto changed = failure_by_changed_data()) outcome = end_for(context, *changed);
    trim_memory_pool(kPooledBetweenTrials);
    const std::chrono::duration<double> total = std::chrono::steady_clock::now() - start;
    timing.setup_s = std::max(0.0, total.count() - (timing.waited_s() - waited_s) - timing.train_s -
                                       timing.validate_s - timing.latency_s);
    return outcome;
  }

  std::vector<double> latencies_ms(std::span<const trial::Trial> trials) override {
    std::vector<double> latencies;
    if (!setup_.measure_latency) return latencies;
    set_threads(setup_.options.threads);
    const auto begun = std::chrono::steady_clock::now();
    const std::function<bool()> goes_on = [begun] { return seconds_since(begun) < kLongestRound_s; };
    for (const trial::Trial& trial : trials) {
      TrainingSetup setup = setup_;
      setup.options = options_of(trial);
      Learner learner(setup, trial);
      double& least_ms = latencies.emplace_back(std::numeric_limits<double>::infinity());
      const auto began = std::chrono::steady_clock::now();
      do {
        const auto times = time_passes(learner, setup, goes_on);
        if (!times) return {};
        least_ms = std::min(least_ms, times->least_ms);
      } while (seconds_since(began) < kShortestMeasurement_s);
    }
    trim_memory_pool(kPooledBetweenTrials);
    return latencies;
  }

 private:
  using Curve = std::vector<trial::CurvePoint>;

  /// Returns the setup of a trial; the first refit makes that of refits.
  const TrainingSetup& setup_for_trial(const trial::Trial& trial) {
    if (!trial::is_refit(trial)) return setup_;
    std::call_once(refit_once_, [this] { refit_setup_ = setup_of_refit(setup_); });
    return *refit_setup_;
  }

  std::optional<std::string> device_fault() const {
    const DeviceUse& use = setup_.device;
    return use.accelerator == nullptr ? std::nullopt : use.accelerator->fault(use.device);
  }

  /// Trains when the node's memory has room for it beside the other slots' trials.
  Outcome attempt_in_memory(const trial::Trial& trial, trial::EvaluationContext& context, Curve& course) {
    const auto in_memory = [&] { return attempt(trial, context, nullptr, course); };
    return memory_ == nullptr ? in_memory()
                              : memory_->train(trial, forecast_options_of(trial), context, in_memory);
  }

  /// Trains when the device has room for it beside the other slots' trials.
  Outcome attempt_in_turn(const trial::Trial& trial, trial::EvaluationContext& context, Curve& course) {
    const auto& device =
        setup_.device.accelerator->devices().at(static_cast<std::size_t>(setup_.device.device));
    const auto in_turn = [&](trial::EvaluationContext& its_own, AdmissionGate::Permit& permit) {
      return attempt(trial, its_own, &permit, course);
    };
    try {
      const TrainingOptions options = forecast_options_of(trial);
      return train_when_admitted(gate(), {trial, options, device}, context, in_turn);
    } catch (...) {  // the device does not answer
      return end_for(context, current_failure());
    }
  }

  /// The first trial makes the gate, when everything that trials share is on the device.
  AdmissionGate& gate() {
    std::call_once(gate_once_, [this] {
      setup_.on_device->samples(SampleSet::kTrain);
      setup_.on_device->scaling();
      gate_ = std::make_unique<AdmissionGate>(*setup_.device.accelerator, setup_.device.device);
    });
    return *gate_;
  }

  /// Trains. Every error of the trial itself becomes a failure with its reason.
  /// @param course  receives the learning curve, which ends where a trial fails
  Outcome attempt(const trial::Trial& trial, trial::EvaluationContext& context, AdmissionGate::Permit* permit,
                  Curve& course) {
    std::optional<TrainingSetup> own;   // only for a trial with searched values
    std::unique_ptr<TrainingLoop> run;  // other members of a group use its memory until they know of an error
    try {
      set_threads(setup_.options.threads);
      const TrainingSetup& setup = setup_for_trial(trial);
      if (const auto& values = trial.architecture().training(); !values.empty())
        own.emplace(setup).options = with_values(setup.options, values);
      run = std::make_unique<TrainingLoop>(own ? *own : setup, trial, context, permit);
      Outcome outcome = run->run();
      course = run->course();
      return outcome;
    } catch (...) {
      course = run == nullptr ? Curve() : run->course();
      return end_for(context, current_failure());
    }
  }

  /// @throws UserError if samples or a teacher's outputs were overwritten
  void check_data_unchanged() const {
    setup_.dataset->check_unchanged();
    if (setup_.teacher) setup_.teacher->check_unchanged();
  }

  /// Returns a failure if the data have changed, because the trial may have learned from other values.
  std::optional<Failure> failure_by_changed_data() const {
    try {
      check_data_unchanged();
      return std::nullopt;
    } catch (const UserError& changed) {
      return Failure{FailureKind::kException, changed.what()};
    }
  }

  /// Returns the failure of the trial. In a group all members return the first failure of any member. If
  /// members share a device and lack its memory, that is a fault and no result: with a device each they may
  /// have enough.
  Failure end_for(trial::EvaluationContext& context, Failure failure) {
    if (context.group() == nullptr) return failure;
    const bool lack_shared_memory = failure.kind == FailureKind::kOutOfMemory &&
                                    setup_.device.accelerator != nullptr && share_processes(*context.group());
    if (lack_shared_memory) {
      failure.reason =
          "not enough memory for the members of a group that share a GPU, though each may have enough "
          "alone: resume the run on a GPU for each member (" +
          failure.reason + ")";
    }
    context.group()->abort(failure, lack_shared_memory || fault() != nullptr);
    try {
      context.group()->check();
    } catch (const trial::GroupAborted& aborted) {
      return aborted.failure();
    }
    return failure;
  }

  TrainingSetup setup_;
  // Holds back trials on processors; nullptr if none are held back.
  std::shared_ptr<const NodeMemoryLimiter> memory_;
  std::once_flag refit_once_;
  std::optional<TrainingSetup> refit_setup_;
  std::once_flag gate_once_;
  std::unique_ptr<AdmissionGate> gate_;  // admits trials that share a device; nullptr on the CPU
};

}  // namespace

std::unique_ptr<trial::Evaluator> make_training_evaluator(
    const TrainingOptions& options, Normalization normalization,
    std::shared_ptr<const store::Dataset> dataset, store::SplitIndices split, bool measure_latency,
    DeviceUse device, std::shared_ptr<const NodeMemoryLimiter> memory, std::vector<std::int64_t> calibration,
    std::shared_ptr<const store::Teacher> teacher) {
  if (device.accelerator == nullptr && options.precision == Precision::kTf32) {
    throw UserError(
        "`training.precision` is tf32, which needs a GPU, and networks are trained on the CPU: expected fp32 "
        "or bf16");
  }
  install_memory_pool();
  TrainingSetup setup =
      setup_for(device, options, dataset, std::move(split), normalization, std::move(teacher));
  setup.measure_latency = measure_latency;
  setup.calibration = std::move(calibration);
  return std::make_unique<TrainingEvaluator>(options, std::move(setup), std::move(memory));
}

}  // namespace skyline::train

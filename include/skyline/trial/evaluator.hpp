#pragma once

#include "skyline/trial/place.hpp"
#include "skyline/trial/trial.hpp"
#include "skyline/trial/trial_group.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::trial {

/// A tensor by layer name ("conv2d_0.weight"), float32, row-major (convolution weights [out, in, kernel,
/// kernel]).
struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  std::vector<float> values;
};

/// A number with its name, e.g. "loss_sum".
struct NamedNumber {
  std::string name;
  double value = 0;
};

/// The state of a trial in training, from which it continues to the same bits. The evaluator chooses its
/// meaning.
struct TrainingState {
  struct Array {
    std::string name;  // e.g. "parameters"
    std::vector<float> values;
  };
  using Number = NamedNumber;
  std::int64_t step = 0;        // number of training steps done
  std::vector<Array> arrays;    // flat: one array per class of tensors, not one per tensor
  std::vector<Number> numbers;  // counters and sums
};

/// A point of a trial's learning curve: values measured since the previous point.
struct CurvePoint {
  std::int64_t step = 0;                 // last step that the point covers, or another count of the evaluator
  std::vector<NamedNumber> values = {};  // e.g. "train_loss"; a metric of the evaluator is called by its name
};

/// The requests of the slot to a trial.
class TrialControl {
 public:
  virtual ~TrialControl() = default;
  /// Returns true if the trial should end soon: the evaluator saves its state and returns Failure{kStopped}.
  /// It is also true when the trial's time is over. Cheap, so call it after each step. A trial that never
  /// asks and takes a minute longer is named in the log and by `skyline status` (docs/faults.md).
  virtual bool stop_requested() const = 0;
  /// Returns the seconds that the trial may still take by `run.trial_timeout`, without waits; below 0 if its
  /// time is over. Returns nullopt if it has no limit, or if a group trains it and this member does not lead.
  virtual std::optional<double> left_s() const { return std::nullopt; }

 private:
  friend class TrialWait;
  virtual void hold_time() {}
  virtual void resume_time() {}
};

/// The state of a trial, saved while it trains. By default nothing is saved.
class TrialState {
 public:
  virtual ~TrialState() = default;
  /// Returns the state that an earlier job saved for this trial, or that the continued trial left. If it
  /// returns nullptr, start from the beginning, which gives the same result. A state that does not fit the
  /// trial must be ignored with a warning. The context owns it; the first call of due() frees it.
  virtual const TrainingState* saved() const { return nullptr; }
  /// Returns whether the state should be saved now, by the run's checkpoint interval. Cheap; call it after
  /// each step.
  virtual bool due(double /*epochs_done*/) { return false; }
  /// Makes `fill` copy the state into a staging buffer, and publishes the copy while the trial continues. The
  /// buffer may hold an older state of this trial, whose memory should be used again.
  virtual void save(const std::function<void(TrainingState&)>& /*fill*/) {}
  /// Saves the state after the last step, for trials that continue this one. Call it if
  /// trial.may_be_continued().
  virtual void save_last(const std::function<void(TrainingState&)>& /*fill*/) {}
};

/// The trained weights from which a trial starts, and those that it leaves. By default there are none, and
/// none are kept.
class TrialWeights {
 public:
  using Tensors = std::vector<NamedTensor>;

  virtual ~TrialWeights() = default;
  /// Returns the parent's trained tensors if trial.inherits(), else nullptr. They are shared and never
  /// change. It may wait for them; it also returns nullptr if the trial was asked to stop meanwhile.
  virtual std::shared_ptr<const Tensors> inherited() { return nullptr; }
  /// Returns whether keep() should be called after training.
  virtual bool wanted() const { return false; }
  virtual void keep(Tensors /*weights*/) {}
  /// Keeps what a full training's network answers to held-out samples, as JSON (docs/internals/files.md), for
  /// the report. It is written with the weights, and lost without a call of keep().
  virtual void keep_answers(std::string /*json*/) {}
};

/// What programs have answered before a training (`when: before`), so that no later attempt at the trial, or
/// later job, asks again. By default it is kept as long as this object.
class EarlyValues {
 public:
  using ByMetric = std::map<std::string, double>;

  virtual ~EarlyValues() = default;
  virtual const ByMetric& known() const { return known_; }
  /// Returns the early values of the search trial that this full training trains; none for others.
  virtual ByMetric of_search() const { return {}; }
  virtual void keep(const std::string& metric, double value) { known_[metric] = value; }

 private:
  ByMetric known_;
};

/// The comparison of a trial with others while it trains (`search.pruning`). All members of a group know the
/// declared steps by Trial::bars; member 0 compares.
class TrialPruning {
 public:
  struct Decision {
    std::int64_t step = 0;
    bool stop = false;  // whether the trial should end; stays true once it is
  };
  virtual ~TrialPruning() = default;
  /// Returns the decisions so far, ascending; also those of an earlier attempt at the trial, or an earlier
  /// job. Valid until the next call of decide().
  virtual std::span<const Decision> decisions() const = 0;
  /// Returns the names of the metrics that a step must have to be compared. Early values are, too.
  virtual std::vector<std::string> compared() const = 0;
  /// Compares the values after a declared step, an epoch or another unit of the budget, and keeps them with
  /// the result. A trial that lacks one of compared(), or has NaN for it, may continue. If the step was
  /// decided, that decision stands. Steps ascend.
  /// @return  whether the trial should end. If the evaluator ends it, it returns Measurements with `pruned`,
  ///          whose values the engine fills in
  virtual bool decide(const CurvePoint& point) = 0;
};

/// The folder of a trial in the run, for an evaluator whose state is files. All attempts at the trial have
/// the same one, in later jobs too. Only their owner may enter it.
struct TrialFolder {
  std::filesystem::path path;
  /// Whether it has files already: an earlier attempt left them, or the trial that this one continues.
  bool resumed = false;
  /// The folder that the parent left if trial.inherits(), which must only be read; else empty.
  std::filesystem::path parent = {};
};

/// The services of a slot for the evaluation of one trial. There is one per running trial; only that slot's
/// thread uses it.
class EvaluationContext {
 public:
  virtual ~EvaluationContext() = default;
  virtual TrialControl& control() = 0;
  virtual TrialState& state() = 0;
  virtual TrialWeights& weights() = 0;
  /// Returns the trial's folder. The first call makes it, and may wait for that of another trial. Returns
  /// nullptr if the trial was asked to stop meanwhile, or if the evaluator's kind has no folders
  /// (EvaluatorNeeds). When the trial has ended well, what is in the folder is the state that the trial
  /// leaves; the evaluator must not change it any more.
  virtual const TrialFolder* folder() { return nullptr; }
  /// Returns what is known before the training. Of a group's members only the first one asks and keeps.
  virtual EarlyValues& early_values() { return early_values_; }
  /// Returns the comparison of the trial while it trains, or nullptr if it is not compared: it has no bars,
  /// or this member does not lead.
  virtual TrialPruning* pruning() { return nullptr; }
  /// Returns the group if trial.members > 1, else nullptr. evaluate() is then called once per member, at the
  /// same time, and only member 0's context saves, inherits and keeps, and has a folder.
  virtual TrialGroup* group() = 0;
  /// Returns the place where this member of the trial runs. Results must not depend on it.
  virtual Place place() const { return {}; }
  /// Returns the reason why the try of this job before this one failed (Evaluator::tries_again), or an empty
  /// text. All members of a group get the same.
  virtual std::string last_failure() const { return {}; }
  /// Returns the times of the trial. The evaluator fills in train_s, validate_s and latency_s, without waits
  /// (TrialWait). The rest of its time counts as set-up. If it fills in nothing, all of it counts as
  /// training.
  virtual TrialTiming& timing() = 0;
  /// Adds a point to the trial's learning curve, at any time while it runs; steps must ascend. The curve is
  /// written when the trial ends with a result or a failure. Some hundred points are kept: if there are more,
  /// each two become one. A trial that is stopped, or tried again, reports its curve again.
  virtual void report(CurvePoint /*point*/) {}

 private:
  EarlyValues early_values_;
};

/// A wait of a trial. While the object exists, the time does not count for `run.trial_timeout`, and counts as
/// `part` of the trial's timing. State, weights and group do this themselves; an evaluator that waits for
/// something else, e.g. a device or a licence, makes such an object. Waits may be nested. Only the thread
/// that evaluates uses it; the context must outlive it.
class TrialWait {
 public:
  explicit TrialWait(EvaluationContext& context, double TrialTiming::*part = &TrialTiming::wait_device_s);
  ~TrialWait();
  TrialWait(const TrialWait&) = delete;
  TrialWait& operator=(const TrialWait&) = delete;

 private:
  EvaluationContext& context_;
  double TrialTiming::*const part_;
  const double waited_s_;  // value of `part` before the wait
  const std::chrono::steady_clock::time_point start_;
};

/// Turns a trial into a result: LibTorch training, a table, a synthetic cost. There is one object per rank.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Returns the expected work of a trial, above 0, in units that can be compared within a run. It is rounded
  /// to whole units, so a trial should have many. It must depend only on network, budget and start, and be
  /// the same on every machine.
  virtual double predicted_cost(const Trial& trial) const = 0;
  /// Returns how many members should train the trial together. It must depend only on network and horizon: it
  /// changes the trial's result, and never depends on the existing ranks.
  virtual std::uint32_t members_for(const Trial& /*trial*/) const { return 1; }
  /// Returns whether a trial may have several members at all, because ranks that train together need
  /// connections. If it returns false, members_for must not return more than 1.
  virtual bool forms_groups() const { return false; }
  /// Returns the number of slots per rank; 0 for one per free processor. An evaluator whose slots share a
  /// device returns more, and decides itself how many train at a time.
  virtual std::size_t slots() const { return 0; }
  /// Returns the place where trials of this rank run: `rank`, changed by what the evaluator has chosen, e.g.
  /// a device, processors near it, or the share of memory of a trial.
  virtual Place place(Place rank) const { return rank; }
  /// Returns the kind of device on which all ranks evaluate, "cpu" or "gpu"; empty if results do not depend
  /// on it. A resumed run keeps the kind with which it began.
  virtual std::string device() const { return {}; }
  /// Evaluates a trial. Several slot threads call it at the same time. The result must depend only on the
  /// trial, never on rank, slot or time. Every error of the trial itself is a Failure, not an exception. The
  /// trial's time (`run.trial_timeout`) begins with the call.
  virtual Outcome evaluate(const Trial& trial, EvaluationContext& context) = 0;
  /// Measures the latency of the trials' networks once more, one after another, while nothing is evaluated.
  /// Called for the members of the front when the run is done, several times, on rank 0 alone.
  /// @return  milliseconds for each trial; empty if the run measures no latency
  virtual std::vector<double> latencies_ms(std::span<const Trial> /*trials*/) { return {}; }
  /// Returns why nothing can be evaluated here any more, or nullptr: a FaultError (a device that has failed
  /// for good) or a UserError (data that were overwritten). Called after a Failure, which then does not count
  /// as the trial's result: the job ends with this error.
  virtual std::exception_ptr fault() { return nullptr; }
  /// Returns whether another try may cure the failure of a trial, which is then no result. Unless overridden,
  /// it is so for the first failure by an exception, by a lack of memory, or because the trial took too long.
  /// @param tried  how often the trial has failed before
  virtual bool tries_again(const Failure& failure, std::uint32_t tried) const;
};

}  // namespace skyline::trial

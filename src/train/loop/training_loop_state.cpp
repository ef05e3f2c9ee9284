// Starts a trial, saves its state, and stops it early.

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/inherit/weight_transfer.hpp"
#include "train/loop/training_loop.hpp"

#include <array>
#include <string>
#include <utility>

namespace skyline::train {
namespace {

using trial::FailureKind;

constexpr const char* kLossSum = "loss_sum";    // sum over the epoch of the last step
constexpr const char* kAnyOrder = "any_order";  // the last number, if TrialTiming::any_order is set

}  // namespace

void TrainingLoop::start() {
  const Source source = leads() ? start_alone() : Source::kFresh;
  if (group_ != nullptr) start_like_leader(source);
}

TrainingLoop::Source TrainingLoop::start_alone() {
  const trial::TrainingState* state = context_.state().saved();
  if (state != nullptr && load(*state)) return Source::kSaved;
  if (state != nullptr) {
    log::warning("the saved state of trial " + std::to_string(trial_.number) +
                 " does not fit it: the trial starts from the beginning");
  }
  return trial_.inherits() != nullptr ? inherit() : Source::kFresh;
}

TrainingLoop::Source TrainingLoop::inherit() {
  const auto trained = context_.weights().inherited();
  if (trained == nullptr && context_.control().stop_requested()) {
    return Source::kFresh;  // it is stopped before the first step
  }
  require(trained != nullptr, "a trial that inherits was not given its parent's weights");
  learner_->import_tensors(inherit_weights(trial_.inherits()->architecture->network(), *trained,
                                           trial_.architecture().network(), learner_->export_tensors()));
  return Source::kInherited;
}

/// Starts from the state of the leader; agrees on a stop that was requested by now. Collective.
void TrainingLoop::start_like_leader(Source source) {
  std::array<double, 1> told = {static_cast<double>(source)};
  broadcast_numbers(*group_, told);
  const auto leaders = static_cast<Source>(told[0]);
  if (leaders == Source::kSaved) {
    trial::TrainingState state = leads() ? *context_.state().saved() : trial::TrainingState();
    broadcast_state(*group_, state);
    require(leads() || load(state), "the leader's state does not fit another member of its group");
  } else if (leaders == Source::kInherited) {
    std::vector<trial::NamedTensor> tensors = learner_->export_tensors();
    broadcast_tensors(*group_, tensors);
    if (!leads()) learner_->import_tensors(tensors);
  }
  agree({}, false);
}

void TrainingLoop::agree(std::span<double> values, bool may_save) {
  const bool save = may_save && leads() && context_.state().due(epochs_done());
  agreed_ = train::agree(*group_, values, {context_.control().stop_requested(), save});
}

bool TrainingLoop::load(const trial::TrainingState& state) {
  LearningCurve course = course_;
  EpochChoice choice = choice_;
  const std::size_t rest = 1 + choice.numbers();
  std::span numbers(state.numbers);
  const bool is_of_any_order = !numbers.empty() && numbers.back().name == kAnyOrder;
  if (is_of_any_order) numbers = numbers.first(numbers.size() - 1);
  if (numbers.size() < rest || numbers.front().name != kLossSum ||
      !choice.load(numbers.subspan(1, choice.numbers())) || !course.load(numbers.subspan(rest)) ||
      state.step < 1 || state.step > total_steps_ || !learner_->load_state(state)) {
    return false;
  }
  if (is_of_any_order) context_.timing().any_order = 1;
  course_ = std::move(course);
  choice_ = choice;
  first_step_ = steps_done_ = state.step;
  recent_loss_sum_ = state.numbers.front().value;
  recent_steps_ = (steps_done_ - 1) % steps_per_epoch_ + 1;
  return true;
}

bool TrainingLoop::save_due() {
  return group_ == nullptr ? context_.state().due(epochs_done()) : std::exchange(agreed_.save, false);
}

/// Saves the state. A diverged trial leaves none, so that it ends in the same way wherever the host first
/// looks at its losses.
void TrainingLoop::save() {
  if (steps_ahead_ > 0) collect_losses();
  if (failure_ || diverged_) return;
  learner_->collect_state();
  if (leads()) context_.state().save([this](trial::TrainingState& state) { fill(state); });
}

/// Saves the last state for trials that continue this one.
void TrainingLoop::save_last() {
  learner_->collect_state();
  if (leads()) context_.state().save_last([this](trial::TrainingState& state) { fill(state); });
}

void TrainingLoop::fill(trial::TrainingState& state) const {
  learner_->save_state(state);
  state.numbers = {{kLossSum, recent_loss_sum_}};
  choice_.save(state.numbers);
  course_.save(state.numbers);
  if (context_.timing().any_order != 0) state.numbers.push_back({kAnyOrder, 1});
}

bool TrainingLoop::stop() {
  const bool wanted = group_ == nullptr ? context_.control().stop_requested() : agreed_.stop;
  if (wanted) end_early();
  return wanted;
}

void TrainingLoop::end_early() {
  if (steps_done_ > first_step_) {  // otherwise there is nothing new
    save();
  }
  if (failure_) {
    return;  // it had diverged before it was asked to stop
  }
  failure_ = {FailureKind::kStopped, "stopped on request in step " + std::to_string(steps_done_) + " of " +
                                         std::to_string(total_steps_)};
}

}  // namespace skyline::train

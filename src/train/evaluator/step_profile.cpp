#include "train/evaluator/step_profile.hpp"

#include "comm/environment.hpp"
#include "train/batches/training_setup.hpp"
#include "train/device/memory_pool.hpp"
#include "train/learner/learner.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

namespace skyline::train {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kFirstSteps = 3;  // these make handles and choose algorithms
constexpr std::size_t kFewestSteps = 5;
constexpr std::size_t kMostSteps = 1000;
constexpr double kMeasured_s = 2;

/// Returns the first quartile, because disturbances by other processes only make times longer.
double usual_of(std::vector<double> values) {
  const auto quartile = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::ranges::nth_element(values, quartile);
  return *quartile;
}

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

/// Notes the time of each part of each step.
class StepRecord {
 public:
  using WorkOfLayer = std::pair<StepWork, std::size_t>;
  struct Bytes {
    std::int64_t grown = 0;
    std::int64_t most = 0;
  };

  /// @param accelerator  nullptr for the CPU, whose tensors this thread makes
  StepRecord(const Accelerator* accelerator, int device) : accelerator_(accelerator), device_(device) {}

  void begin() {
    for (auto& [part, seconds] : step_) seconds = 0;
    before_ = at_last_ = tensors().now;
    last_ = Steady::now();
  }
  void note(StepWork work, std::size_t layer) {
    step_[{work, layer}] += seconds_since(last_);
    const TensorBytes bytes = tensors();
    Bytes& noted = bytes_[{work, layer}];
    noted.grown = bytes.now - at_last_;
    noted.most = bytes.most - before_;
    at_last_ = bytes.now;
    if (accelerator_ == nullptr) count_most_anew();
    last_ = Steady::now();
  }
  void end() {
    for (const auto& [part, seconds] : step_) seconds_[part].push_back(seconds);
  }

  double seconds(WorkOfLayer part) const {
    const auto found = seconds_.find(part);
    return found == seconds_.end() ? 0 : usual_of(found->second);
  }
  Bytes bytes(WorkOfLayer part) const {
    const auto found = bytes_.find(part);
    return found == bytes_.end() ? Bytes{} : found->second;
  }
  bool has(WorkOfLayer part) const { return seconds_.contains(part); }
  std::int64_t bytes_before() const { return before_; }

 private:
  TensorBytes tensors() const {
    if (accelerator_ == nullptr) return tensor_bytes();
    const auto bytes = static_cast<std::int64_t>(accelerator_->memory(device_).allocated_bytes);
    return {bytes, bytes};
  }

  const Accelerator* accelerator_;
  int device_;
  Steady::time_point last_;
  std::int64_t before_ = 0;   // bytes at the beginning of the step
  std::int64_t at_last_ = 0;  // bytes
  std::map<WorkOfLayer, double> step_;
  std::map<WorkOfLayer, std::vector<double>> seconds_;  // one per step
  std::map<WorkOfLayer, Bytes> bytes_;                  // bytes of the last step
};

/// Trains on full batches, epoch after epoch.
class Steps {
 public:
  Steps(const TrainingSetup& setup, Learner& learner, std::int64_t batch)
      : setup_(setup), learner_(learner), batch_(static_cast<std::size_t>(batch)) {}

  /// If the epoch has no full batch left, ends it with its smaller last batch and begins the next.
  void prepare() {
    if (first_ + batch_ <= order_.size()) return;
    if (first_ < order_.size()) step(order_.size() - first_);
    order_ = epoch_order(setup_.split.train, 0, epoch_);
    learner_.begin_epoch(epoch_++, order_);
    first_ = 0;
  }
  /// @pre prepare() was called
  void run() { step(batch_); }

 private:
  void step(std::size_t count) {
    learner_.step(first_, count);
    first_ += count;
    learner_.losses();
  }

  const TrainingSetup& setup_;
  Learner& learner_;
  const std::size_t batch_;
  std::vector<std::int64_t> order_;
  std::size_t first_ = 0;
  std::uint64_t epoch_ = 0;
};

RecordingPolicy nothing_recorded() {
  RecordingPolicy policy;
  policy.least_steps = policy.least_batches = std::numeric_limits<std::int64_t>::max();
  return policy;
}

std::vector<LayerProfile> layers_of(const space::Network& network, const StepRecord& record) {
  std::vector<LayerProfile> profiles;
  std::vector<std::size_t> profile_of;  // index of each layer's profile
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    if (!record.has({StepWork::kForward, i})) {  // the op whose output it alone reads has absorbed it
      profile_of.push_back(profile_of[network.layers[i].inputs.front()]);
      profiles[profile_of.back()].absorbed.push_back(i);
      continue;
    }
    profile_of.push_back(profiles.size());
    const StepRecord::Bytes forward = record.bytes({StepWork::kForward, i});
    profiles.push_back({.layer = i,
                        .absorbed = {},
                        .forward_s = record.seconds({StepWork::kForward, i}),
                        .backward_s = record.seconds({StepWork::kBackward, i}),
                        .grown_bytes = forward.grown,
                        .most_bytes = std::max(forward.most, record.bytes({StepWork::kBackward, i}).most)});
  }
  return profiles;
}

}  // namespace

StepProfile profile_step(comm::Environment& job, const ProfileTask& task) {
  const TrainingOptions options =
      with_values(TrainingOptions::table().parse(task.section), task.architecture->training());
  const TrainingSetup setup = make_setup(job, options, task.dataset, task.split, task.normalization);
  const auto samples = static_cast<std::int64_t>(setup.split.train.size());
  const std::int64_t batch = std::min(setup.options.batch, samples);
  trial::Trial trial;
  trial.proposal.architecture = task.architecture;
  // The budget is larger than what is measured, for schedules that end with the trial.
  trial.proposal.budget.epochs =
      1 + static_cast<double>(3 * kMostSteps) / static_cast<double>(samples / batch);
  Learner learner(setup, trial, nullptr, nothing_recorded());
  Steps steps(setup, learner, batch);
  StepRecord record(setup.device.on_gpus ? setup.device.accelerator.get() : nullptr, setup.device.device);
  const auto timed = [&steps] {
    steps.prepare();
    const auto started = Steady::now();
    steps.run();
    return seconds_since(started);
  };
  for (std::size_t i = 0; i < kFirstSteps; ++i) timed();
  std::vector<double> whole;
  const auto begin = Steady::now();
  while (whole.size() < kMostSteps && (whole.size() < kFewestSteps || seconds_since(begin) < kMeasured_s)) {
    whole.push_back(timed());
    steps.prepare();
    learner.watch([&record](StepWork work, std::size_t layer) { record.note(work, layer); });
    record.begin();
    steps.run();
    record.end();
    learner.watch({});
  }
  const AcceleratorDevice& device =
      setup.device.accelerator->devices().at(static_cast<std::size_t>(setup.device.device));
  return {.device = device.name,
          .batch = batch,
          .threads = setup.options.threads,
          .steps = whole.size(),
          .layers = layers_of(task.architecture->network(), record),
          .batch_s = record.seconds({StepWork::kBatch, 0}),
          .loss_s = record.seconds({StepWork::kLoss, 0}),
          .update_s = record.seconds({StepWork::kUpdate, 0}),
          .step_s = usual_of(whole),
          .tensor_bytes = record.bytes_before()};
}

}  // namespace skyline::train

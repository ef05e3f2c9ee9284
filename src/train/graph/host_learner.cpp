#include "train/course/augmentation.hpp"
#include "train/course/batch_source.hpp"
#include "train/course/learner.hpp"
#include "train/course/training_step.hpp"
#include "train/course/trial_run.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/optimizer/optimizer.hpp"

#include <optional>

namespace skyline::train {
namespace {

/// Samples of a forward pass in evaluation mode: enough to hide the fixed cost of a pass, few enough for the
/// caches. Part of the definition of a result: another number could change its last bits.
constexpr std::size_t kHostEvaluationBatch = 64;

class HostLearner final : public Learner {
 public:
  HostLearner(const TrainingSetup& setup, const trial::Trial& trial, trial::TrialGroup* group)
      : setup_(setup),
        members_(group == nullptr ? 1 : group->members()),
        member_(group == nullptr ? 0 : group->member()),
        steps_per_epoch_(steps_per_epoch(setup.split.train.size(), setup.options.batch)),
        rate_(setup.options, steps_per_epoch_,
              steps_for(trial.horizon().epochs, setup.split.train.size(), setup.options.batch)),
        network_(make_fused_step(trial.architecture().network, setup.options.optimizer, trial.seed,
                                 {.group = group, .options = setup.options.group})) {
    if (setup.options.augment.any()) {
      augmentation_.emplace(setup.options.augment, setup.dataset->shape(), trial.seed);
    }
  }

  void begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order) override {
    epoch_ = epoch;
    order_ = order;
  }

  void step(std::size_t first, std::size_t count) override {
    const BatchPart part = part_of_batch(count, members_, member_);
    if (augmentation_) {
      augmentation_->begin_batch(epoch_, first + part.first);
    }
    gather(setup_.dataset->train(), order_.subspan(first + part.first, part.count),
           augmentation_ ? &*augmentation_ : nullptr);
    const auto place = static_cast<std::int64_t>(first) / setup_.options.batch;
    network_->set_learning_rate(rate_.at(static_cast<std::int64_t>(epoch_) * steps_per_epoch_ + place));
    loss_ = network_->step_part(batch_.images, batch_.labels, part, count);
    has_loss_ = true;
  }

  std::span<const double> losses() override {
    const std::size_t count = has_loss_ ? 1 : 0;
    has_loss_ = false;
    return {&loss_, count};
  }

  std::int64_t most_steps_ahead() const override { return 1; }

  kernels::BatchScore score(SampleSet set, std::span<const std::int64_t> indices) override {
    gather(set == SampleSet::kTrain ? setup_.dataset->train() : setup_.dataset->test(), indices, nullptr);
    const at::Tensor logits = network_->infer(batch_.images);
    return kernels::cross_entropy(logits.const_data_ptr<float>(), batch_.labels.data(), indices.size(),
                                  static_cast<std::size_t>(logits.size(1)), nullptr);
  }

  std::size_t evaluation_batch() const override { return kHostEvaluationBatch; }

  void hold(std::span<const std::int64_t> indices) override {
    gather(setup_.dataset->train(), indices, nullptr);
  }

  void infer_held() override { network_->infer(batch_.images); }

  std::vector<trial::NamedTensor> export_tensors() const override { return network_->export_tensors(); }

  void import_tensors(const std::vector<trial::NamedTensor>& tensors) override {
    network_->parameters().import_tensors(tensors);
  }

  void collect_state() override { network_->collect_state(); }

  void save_state(trial::TrainingState& state) const override { network_->save_state(state); }

  bool load_state(const trial::TrainingState& state) override { return network_->load_state(state); }

 private:
  void gather(const store::MappedImages& source, std::span<const std::int64_t> indices,
              Augmentation* augmentation) {
    gather_batch(source, setup_.dataset->shape(), setup_.scaling, indices, batch_, augmentation);
  }

  const TrainingSetup& setup_;
  std::size_t members_;
  std::size_t member_;
  std::int64_t steps_per_epoch_;
  LearningRate rate_;
  std::unique_ptr<ResumableStep> network_;
  std::optional<Augmentation> augmentation_;
  Batch batch_;
  std::uint64_t epoch_ = 0;
  std::span<const std::int64_t> order_;
  double loss_ = 0;
  bool has_loss_ = false;
};

}  // namespace

std::unique_ptr<Learner> make_host_learner(const TrainingSetup& setup, const trial::Trial& trial,
                                           trial::TrialGroup* group) {
  return std::make_unique<HostLearner>(setup, trial, group);
}

}  // namespace skyline::train

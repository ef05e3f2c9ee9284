#include "train/course/training_step.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/graph/memory_pool.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/ops/autograd_op.hpp"
#include "train/optimizer/optimizer.hpp"

#include <algorithm>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

namespace skyline::train {
namespace {

using Array = trial::TrainingState::Array;

bool fits(const Array& array, const char* name, std::size_t size) {
  return array.name == name && array.values.size() == size;
}

class FusedStep final : public ResumableStep {
 public:
  FusedStep(const space::Network& network, const OptimizerOptions& options, std::uint64_t seed,
            const GroupMembership& membership)
      : seed_(seed),
        is_sharded_(membership.is_sharded()),
        parameters_(network, seed),
        graph_(network, parameters_),
        buckets_(membership.group == nullptr ? std::vector<GradientBucket>()
                                             : gradient_buckets(parameters_, membership.bucket_bytes)),
        optimizer_(options, parameters_, owned_ranges(buckets_, membership, parameters_)) {
    if (membership.group == nullptr) {
      return;
    }
    exchange_.emplace(membership, buckets_, parameters_, optimizer_);
    if (membership.options.statistics == GroupOptions::Statistics::kSynchronized) {
      graph_.synchronize(*membership.group);
    }
  }

  double step(const at::Tensor& images, std::span<const std::int32_t> labels) override {
    return step_part(images, labels, {0, labels.size()}, labels.size());
  }

  double step_part(const at::Tensor& images, std::span<const std::int32_t> labels, BatchPart part,
                   std::size_t batch) override {
    const WithoutAutograd no_autograd;
    const std::uint64_t seed = step_seed(seed_, optimizer_.steps_done());
    const at::Tensor logits = graph_.forward(images, {seed, part.first}).contiguous();
    at::Tensor gradient = at::empty_like(logits);
    const kernels::BatchScore score = kernels::cross_entropy(
        logits.const_data_ptr<float>(), labels.data(), labels.size(),
        static_cast<std::size_t>(logits.size(1)), gradient.mutable_data_ptr<float>(), batch);
    if (exchange_) {
      exchange_->begin_step(part.count, batch);
      graph_.backward(std::move(gradient), [this](std::size_t layer) { exchange_->layer_done(layer); });
      exchange_->finish_step();
    } else {
      graph_.backward(std::move(gradient));
      optimizer_.step();
    }
    inference_ready_ = false;
    return score.loss_sum / static_cast<double>(batch);
  }

  void set_learning_rate(double rate) override { optimizer_.set_learning_rate(rate); }

  at::Tensor infer(const at::Tensor& images) override {
    const WithoutAutograd no_autograd;
    if (!inference_ready_) {
      graph_.prepare_inference();
      inference_ready_ = true;
    }
    const at::Tensor logits = graph_.infer(images).contiguous();
    return logits.view({logits.size(0), logits.size(1)});
  }

  std::vector<trial::NamedTensor> export_tensors() const override {
    const WithoutAutograd no_autograd;
    return parameters_.export_tensors();
  }

  ParameterStore& parameters() override { return parameters_; }

  void collect_state() override {
    if (is_sharded_) {
      exchange_->collect_state(collected_);
    }
  }

  void save_state(trial::TrainingState& state) const override {
    state.step = optimizer_.steps_done();
    state.arrays.resize(2);
    state.arrays[0].name = kParameters;
    state.arrays[0].values.assign(parameters_.memory().begin(), parameters_.memory().end());
    state.arrays[1].name = kOptimizer;
    if (is_sharded_) {
      state.arrays[1].values = collected_;
    } else {
      state.arrays[1].values.resize(optimizer_.state().size());
      optimizer_.state().write(state.arrays[1].values);
    }
  }

  bool load_state(const trial::TrainingState& state) override {
    if (state.arrays.size() != 2 || !fits(state.arrays[0], kParameters, parameters_.memory().size()) ||
        !fits(state.arrays[1], kOptimizer, optimizer_.state().size())) {
      return false;
    }
    std::ranges::copy(state.arrays[0].values, parameters_.memory().begin());
    optimizer_.state().read(state.arrays[1].values);
    optimizer_.set_steps_done(state.step);
    inference_ready_ = false;
    return true;
  }

 private:
  static constexpr const char* kParameters = "parameters";
  static constexpr const char* kOptimizer = "optimizer";

  std::uint64_t seed_;
  bool is_sharded_;
  ParameterStore parameters_;
  LayerGraph graph_;
  std::vector<GradientBucket> buckets_;
  Optimizer optimizer_;
  std::optional<GradientExchange> exchange_;  // only in a group
  std::vector<float> collected_;              // the whole state of a sharded optimizer, after collect_state
  bool inference_ready_ = false;
};

}  // namespace

std::unique_ptr<ResumableStep> make_fused_step(const space::Network& network, const OptimizerOptions& options,
                                               std::uint64_t seed, const GroupMembership& membership) {
  install_memory_pool();
  const WithoutAutograd no_autograd;
  return std::make_unique<FusedStep>(network, options, seed, membership);
}

}  // namespace skyline::train

#include "train/kernels/cross_entropy.hpp"
#include "train/layer_graph.hpp"
#include "train/memory_pool.hpp"
#include "train/optimizer.hpp"
#include "train/training_step.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/InferenceMode.h>

namespace skyline::train {
namespace {

using Array = objective::TrainingState::Array;

void copy_into(Array& array, const char* name, std::span<const float> values) {
  array.name = name;
  array.values.assign(values.begin(), values.end());
}

bool fits(const Array& array, const char* name, std::span<const float> target) {
  return array.name == name && array.values.size() == target.size();
}

class FusedStep final : public ResumableStep {
 public:
  FusedStep(const space::Network& network, const OptimizerOptions& options, std::uint64_t seed)
      : seed_(seed),
        parameters_(network, seed),
        graph_(network, parameters_),
        optimizer_(options, parameters_) {}

  double step(const at::Tensor& images, std::span<const std::int32_t> labels) override {
    const c10::InferenceMode no_autograd;
    const at::Tensor logits = graph_.forward(images, step_seed(seed_, optimizer_.steps_done())).contiguous();
    at::Tensor gradient = at::empty_like(logits);
    const kernels::BatchScore score =
        kernels::cross_entropy(logits.const_data_ptr<float>(), labels.data(), labels.size(),
                               static_cast<std::size_t>(logits.size(1)), gradient.mutable_data_ptr<float>());
    graph_.backward(std::move(gradient));
    optimizer_.step();
    inference_ready_ = false;
    return score.loss_sum / static_cast<double>(labels.size());
  }

  at::Tensor infer(const at::Tensor& images) override {
    const c10::InferenceMode no_autograd;
    if (!inference_ready_) {
      graph_.prepare_inference();
      inference_ready_ = true;
    }
    const at::Tensor logits = graph_.infer(images).contiguous();
    return logits.view({logits.size(0), logits.size(1)});
  }

  std::vector<objective::NamedTensor> export_tensors() const override {
    const c10::InferenceMode no_autograd;
    return parameters_.export_tensors();
  }

  ParameterStore& parameters() override { return parameters_; }

  void save_state(objective::TrainingState& state) const override {
    state.step = optimizer_.steps_done();
    state.arrays.resize(2);
    copy_into(state.arrays[0], kParameters, parameters_.memory());
    copy_into(state.arrays[1], kOptimizer, optimizer_.state());
  }

  bool load_state(const objective::TrainingState& state) override {
    if (state.arrays.size() != 2 || !fits(state.arrays[0], kParameters, parameters_.memory()) ||
        !fits(state.arrays[1], kOptimizer, optimizer_.state())) {
      return false;
    }
    std::ranges::copy(state.arrays[0].values, parameters_.memory().begin());
    std::ranges::copy(state.arrays[1].values, optimizer_.state().begin());
    optimizer_.set_steps_done(state.step);
    inference_ready_ = false;
    return true;
  }

 private:
  static constexpr const char* kParameters = "parameters";
  static constexpr const char* kOptimizer = "optimizer";

  std::uint64_t seed_;
  ParameterStore parameters_;
  LayerGraph graph_;
  Optimizer optimizer_;
  bool inference_ready_ = false;
};

}  // namespace

std::unique_ptr<ResumableStep> make_fused_step(const space::Network& network, const OptimizerOptions& options,
                                               std::uint64_t seed) {
  install_memory_pool();
  const c10::InferenceMode no_autograd;
  return std::make_unique<FusedStep>(network, options, seed);
}

}  // namespace skyline::train

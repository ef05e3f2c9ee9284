#include "train/kernels/cross_entropy.hpp"
#include "train/layer_graph.hpp"
#include "train/memory_pool.hpp"
#include "train/optimizer.hpp"
#include "train/training_step.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/InferenceMode.h>

namespace skyline::train {
namespace {

class FusedStep final : public TrainingStep {
 public:
  FusedStep(const space::Network& network, const OptimizerOptions& options, std::uint64_t seed)
      : parameters_(network, seed), graph_(network, parameters_), optimizer_(options, parameters_) {}

  double step(const at::Tensor& images, std::span<const std::int32_t> labels) override {
    const c10::InferenceMode no_autograd;
    const at::Tensor logits = graph_.forward(images).contiguous();
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

 private:
  ParameterStore parameters_;
  LayerGraph graph_;
  Optimizer optimizer_;
  bool inference_ready_ = false;
};

}  // namespace

std::unique_ptr<TrainingStep> make_fused_step(const space::Network& network, const OptimizerOptions& options,
                                              std::uint64_t seed) {
  install_memory_pool();
  const c10::InferenceMode no_autograd;
  return std::make_unique<FusedStep>(network, options, seed);
}

}  // namespace skyline::train

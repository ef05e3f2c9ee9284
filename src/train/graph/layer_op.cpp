#include "skyline/train/layer_op.hpp"

#include "skyline/core/error.hpp"

#include "train/graph/layer_graph.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <utility>

#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

namespace skyline::train {
namespace {

/// Returns all kinds: those of the program, and the built-in ones.
OpList& registry() {
  static OpList& all = []() -> OpList& {
    OpList built_in("layer op", [](OpList& ops) {
      for (const auto add : {add_activation_ops, add_attention_ops, add_convolution_ops, add_dropout_ops,
                             add_linear_ops, add_merge_ops, add_norm_ops, add_pool_ops, add_wiring_ops}) {
        add(ops);
      }
    });
    // The program's op of such a name is refused before any is added, in every attempt alike.
    for (const std::string& name : built_in.names()) {
      if (layer_ops().find(name) != nullptr)
        throw InternalError("the layer op `" + name + "` of this program has the name of a built-in one");
    }
    for (const std::string& name : built_in.names()) layer_ops().add(name, *built_in.find(name));
    return layer_ops();
  }();
  return all;
}

/// The passes of a layer from its definition. Activations between it and its neighbours carry no history, so
/// each such layer is differentiated separately.
class AutogradOp final : public FusedOp {
 public:
  AutogradOp(std::unique_ptr<LayerOp> op, StoredLayer& tensors, at::MemoryFormat order)
      : op_(std::move(op)), tensors_(tensors), order_(order) {
    for (StoredTensor& tensor : tensors_.tensors()) tensor.value.set_requires_grad(tensor.trainable);
  }

  at::Tensor reference(const Activations& inputs, bool training) override {
    return op_->reference(inputs, training);
  }
  bool may_be_recorded() const override { return op_->may_be_recorded(); }
  void begin_step(std::uint64_t seed) override { op_->begin_step(seed); }
  void begin_part(std::size_t first_sample) override { op_->begin_part(first_sample); }

  at::Tensor forward(const Activations& inputs) override {
    const c10::InferenceMode with_autograd(false);
    inputs_.clear();  // a branch without readers has no backward pass
    for (const at::Tensor& input : inputs) inputs_.push_back(input.variable_data().set_requires_grad(true));
    output_ = op_->reference(inputs_, true);
    return output_.variable_data().contiguous(order_);
  }

  Activations backward(at::Tensor gradient, bool wants_input_gradient) override {
    const c10::InferenceMode with_autograd(false);
    Activations sources = wants_input_gradient ? std::exchange(inputs_, {}) : Activations();
    const std::size_t count = sources.size();
    for (const StoredTensor& tensor : tensors_.tensors()) {
      if (tensor.trainable) sources.push_back(tensor.value);
    }
    inputs_.clear();
    const at::Tensor output = std::exchange(output_, {});
    Activations gradients(sources.size());
    if (output.requires_grad() && !sources.empty()) {
      gradients = torch::autograd::grad({output}, sources, {gradient}, std::nullopt, false, true);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) own(gradients, i, gradient, i < count);
    auto next = gradients.begin() + static_cast<std::ptrdiff_t>(count);
    for (StoredTensor& tensor : tensors_.tensors()) {
      if (!tensor.trainable) continue;
      tensor.gradient = next->defined() ? *next : at::zeros_like(tensor.value);
      ++next;
    }
    gradients.resize(count);
    return gradients;
  }

  at::Tensor infer(const Activations& inputs) override {
    return op_->reference(inputs, false).contiguous(order_);
  }

 private:
  /// Makes a gradient own its memory: autograd may return one tensor for several sources, and tensors that
  /// repeat one value. The gradient by the output may become that by an input.
  void own(Activations& gradients, std::size_t index, const at::Tensor& by_output, bool by_input) const {
    at::Tensor& mine = gradients[index];
    if (!mine.defined()) return;
    if (by_input) mine = mine.contiguous(order_);
    if (!mine.is_non_overlapping_and_dense()) mine = mine.contiguous();
    const auto shares = [&](const at::Tensor& other) { return other.defined() && other.is_alias_of(mine); };
    const auto end = gradients.begin() + static_cast<std::ptrdiff_t>(index);
    const bool is_shared = std::any_of(gradients.begin(), end, shares);
    if (is_shared || (!by_input && shares(by_output))) mine = mine.clone();
  }

  std::unique_ptr<LayerOp> op_;
  StoredLayer& tensors_;
  at::MemoryFormat order_;  // memory format of activations
  Activations inputs_;      // inputs of the step, until backward
  at::Tensor output_;
};

}  // namespace

GraphOp make_graph_op(const space::Layer& layer, StoredLayer& tensors, const DevicePlace& place) {
  const OpKind* kind = registry().find(layer.kind);
  if (kind == nullptr) throw InternalError("the trainer has no op for layers of kind `" + layer.kind + "`");
  auto op = kind->make(layer, tensors, place);
  const bool has_passes = dynamic_cast<FusedOp*>(op.get()) != nullptr;
  return {with_passes(std::move(op), tensors, place.order), kind->takes_bfloat16 && has_passes};
}

int outputs_kept(std::string_view kind) {
  const OpKind* known = registry().find(kind);
  return known == nullptr ? OpKind().outputs_kept : known->outputs_kept;
}

std::vector<std::string> layer_op_kinds() {
  return registry().names();
}

std::unique_ptr<FusedOp> with_passes(std::unique_ptr<LayerOp> op, StoredLayer& tensors,
                                     at::MemoryFormat order) {
  if (auto* fused = dynamic_cast<FusedOp*>(op.get())) {
    op.release();
    return std::unique_ptr<FusedOp>(fused);
  }
  return std::make_unique<AutogradOp>(std::move(op), tensors, order);
}

}  // namespace skyline::train

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include "space/quantized/int8_network.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace skyline::space {
namespace {

/// A step before norms and clamps joined others.
struct SingleStep {
  Int8Step step;
  bool is_norm = false;
};

/// The steps of a network's layers, one layer after the other.
class StepList final : public Int8Steps {
 public:
  explicit StepList(const Network& network) : network_(network) { tensors_.push_back(network.input); }

  void add_layer(std::size_t index);
  const std::vector<Shape>& tensors() const { return tensors_; }
  const std::vector<SingleStep>& steps() const { return steps_; }
  Int8Tensor output() const { return outputs_.empty() ? 0 : outputs_.back(); }

  const Layer& layer() const override { return network_.layers.at(outputs_.size()); }
  Int8Tensor input(std::size_t index) const override {
    return layer().inputs.empty() ? 0 : outputs_[layer().inputs.at(index)];
  }
  Int8Tensor convolution(Int8Tensor input, const Int8Products& products, const Shape& output) override {
    return add({.op = Int8Op::kConvolution, .inputs = {input}, .products = products}, output);
  }
  Int8Tensor norm(Int8Tensor input) override;
  Int8Tensor clamp(Int8Tensor input, double low, double high) override {
    require(low <= high, "a layer kind clamps to an empty range");
    return add({.op = Int8Op::kClamp, .inputs = {input}, .low = low, .high = high}, tensors_.at(input));
  }
  Int8Tensor step(Int8Op op, const std::vector<Int8Tensor>& inputs, const Shape& output, const Window& window,
                  std::int64_t heads) override {
    require(op != Int8Op::kConvolution && op != Int8Op::kClamp && op != Int8Op::kLayer,
            "a layer kind adds a step by the wrong function of Int8Steps");
    return add({.op = op, .inputs = inputs, .window = window, .heads = heads}, output);
  }
  Int8Tensor in_float() override;

 private:
  Int8Tensor add(Int8Step step, const Shape& output, bool is_norm = false);

  const Network& network_;
  std::vector<Shape> tensors_;
  std::vector<SingleStep> steps_;
  std::vector<Int8Tensor> outputs_;  // output of each layer so far
};

void StepList::add_layer(std::size_t index) {
  const Layer& added = network_.layers[index];
  const LayerKind* kind = find_layer_kind(added.kind);
  const std::optional<Int8Tensor> output = kind == nullptr ? std::nullopt : kind->int8(*this);
  if (!output) {
    throw UserError("int8: layer kind " + added.kind + " of " + added.name +
                    " says no int8 steps; write its LayerKind::int8, or leave the layer out");
  }
  if (tensors_.at(*output) != added.output) {
    throw InternalError("the int8 steps of layer kind " + added.kind + " give " + to_text(tensors_[*output]) +
                        ", but its output is " + to_text(added.output));
  }
  outputs_.push_back(*output);
}

Int8Tensor StepList::norm(Int8Tensor input) {
  const Shape shape = tensors_.at(input);
  Int8Products products{.groups = shape.channels, .norms = {outputs_.size()}};
  return add({.op = Int8Op::kConvolution, .inputs = {input}, .products = std::move(products)}, shape, true);
}

Int8Tensor StepList::in_float() {
  Int8Step step{.op = Int8Op::kLayer};
  for (std::size_t i = 0; i < layer().input_shapes.size(); ++i) step.inputs.push_back(input(i));
  return add(std::move(step), layer().output);
}

Int8Tensor StepList::add(Int8Step step, const Shape& output, bool is_norm) {
  for (const Int8Tensor input : step.inputs) {
    require(input < tensors_.size(), "a layer kind reads an int8 tensor that does not exist");
  }
  step.layer = outputs_.size();
  step.output = tensors_.size();
  steps_.push_back({std::move(step), is_norm});
  tensors_.push_back(output);
  return tensors_.size() - 1;
}

/// Returns how many steps that are needed for the output read each tensor; the output itself is read once
/// more. A tensor without readers is not needed: what only a `zero` reads.
std::vector<std::size_t> count_readers(const StepList& list) {
  std::vector<std::size_t> readers(list.tensors().size());
  ++readers[list.output()];
  for (std::size_t i = list.steps().size(); i-- > 0;) {
    const Int8Step& step = list.steps()[i].step;
    if (readers[step.output] == 0) continue;
    for (const Int8Tensor input : step.inputs) ++readers[input];
  }
  return readers;
}

bool is_clamped(const Int8Step& step) {
  return step.low > -std::numeric_limits<double>::infinity() ||
         step.high < std::numeric_limits<double>::infinity();
}

/// Lets a norm or a clamp join the step that writes its input. @returns whether it did
bool join(Int8Step& before, const SingleStep& next) {
  if (next.is_norm && before.op == Int8Op::kConvolution && !is_clamped(before)) {
    before.products.norms.push_back(next.step.layer);
  } else if (next.step.op == Int8Op::kClamp && (before.op == Int8Op::kConvolution ||
                                                before.op == Int8Op::kAdd || before.op == Int8Op::kClamp)) {
    before.low = std::clamp(before.low, next.step.low, next.step.high);
    before.high = std::clamp(before.high, next.step.low, next.step.high);
  } else {
    return false;
  }
  before.output = next.step.output;
  return true;
}

/// Returns the needed steps, norms and clamps joined to the step before them where they alone read it.
std::vector<Int8Step> joined_steps(const StepList& list) {
  const std::vector<std::size_t> readers = count_readers(list);
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> writers(list.tensors().size(), kNone);  // index of the joined step of each tensor
  std::vector<Int8Step> steps;
  for (const SingleStep& next : list.steps()) {
    if (readers[next.step.output] == 0) continue;
    const std::size_t writer = next.step.inputs.size() == 1 && readers[next.step.inputs[0]] == 1
                                   ? writers[next.step.inputs[0]]
                                   : kNone;
    if (writer != kNone && join(steps[writer], next)) {
      writers[next.step.output] = writer;
      continue;
    }
    writers[next.step.output] = steps.size();
    steps.push_back(next.step);
  }
  return steps;
}

/// Returns whether a kind says steps: whether it asks for a layer, which a network without layers does not
/// have.
bool says_int8(const LayerKind& kind) {
  const Network none;
  StepList steps(none);
  try {
    return kind.int8(steps).has_value();
  } catch (const std::out_of_range&) {
    return true;
  }
}

}  // namespace

std::optional<std::string> int8_problem(const std::vector<std::string>& kinds, const std::string& what) {
  for (const std::string& name : kinds) {
    const LayerKind* const kind = find_layer_kind(name);
    if (kind == nullptr || says_int8(*kind)) continue;
    return what + " in int8 need the int8 steps of each layer, and the layer kind `" + name +
           "` says none: write its LayerKind::int8";
  }
  return std::nullopt;
}

Int8View int8_view(const Network& network) {
  StepList list(network);
  for (std::size_t i = 0; i < network.layers.size(); ++i) list.add_layer(i);
  Int8View view{.tensors = {network.input}, .steps = joined_steps(list)};
  std::vector<Int8Tensor> numbers(list.tensors().size());  // number in the view of each tensor of the list
  for (Int8Step& step : view.steps) {
    for (Int8Tensor& input : step.inputs) input = numbers[input];
    numbers[step.output] = view.tensors.size();
    view.tensors.push_back(list.tensors()[step.output]);
    step.output = numbers[step.output];
  }
  view.output = numbers[list.output()];
  return view;
}

}  // namespace skyline::space

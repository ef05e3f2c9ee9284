#include "space/layers/layers.hpp"

#include <algorithm>

namespace skyline::space {
namespace {

/// Layer kinds that turn several inputs into one output; none has attributes or tensors.
class MergeKind : public LayerKind {
 public:
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const final {}
  bool merges() const final { return true; }
};

void require_two_inputs(const Layer& layer, AttributeReader& reader) {
  if (layer.input_shapes.size() < 2) reader.fail("expected two inputs or more, got 1");
}

void refuse(const Layer& layer, AttributeReader& reader, const std::string& expected) {
  std::string shapes;
  for (const Shape& shape : layer.input_shapes) shapes += (shapes.empty() ? "" : ", ") + to_text(shape);
  reader.fail("expected " + expected + ", got " + shapes);
}

/// Adds a step for the first two inputs, one for its output and the third input, and so on: runtimes have
/// no sums or products of three.
Int8Tensor two_by_two(Int8Op op, Int8Steps& steps) {
  Int8Tensor result = steps.input(0);
  for (std::size_t i = 1; i < steps.layer().input_shapes.size(); ++i) {
    result = steps.step(op, {result, steps.input(i)}, steps.layer().output);
  }
  return result;
}

class Add final : public MergeKind {
 public:
  std::string_view name() const override { return "add"; }

  void infer(Layer& layer, AttributeReader& reader) const override {
    require_two_inputs(layer, reader);
    if (std::ranges::count(layer.input_shapes, layer.input()) != std::ssize(layer.input_shapes)) {
      refuse(layer, reader, "inputs of one shape");
    }
    layer.output = layer.input();
    layer.cost.flops = (std::ssize(layer.input_shapes) - 1) * layer.output.elements();
  }
  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .adds = true, .zeros = Zeros::kIfAll};
  }
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override { return two_by_two(Int8Op::kAdd, steps); }
};

class Concat final : public MergeKind {
 public:
  std::string_view name() const override { return "concat"; }

  void infer(Layer& layer, AttributeReader& reader) const override {
    require_two_inputs(layer, reader);
    layer.output = {0, layer.input().height, layer.input().width};
    for (const Shape& shape : layer.input_shapes) {
      if (shape.height != layer.output.height || shape.width != layer.output.width) {
        refuse(layer, reader, "inputs of one height and width");
      }
      layer.output.channels += shape.channels;
    }
    bounded_product(reader, {layer.output.channels, layer.output.height, layer.output.width});
  }
  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kJoined, .zeros = Zeros::kIfAll};
  }
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    std::vector<Int8Tensor> inputs;
    for (std::size_t i = 0; i < steps.layer().input_shapes.size(); ++i) inputs.push_back(steps.input(i));
    return steps.step(Int8Op::kConcat, inputs, steps.layer().output);
  }
};

class Multiply final : public MergeKind {
 public:
  std::string_view name() const override { return "multiply"; }

  void infer(Layer& layer, AttributeReader& reader) const override {
    require_two_inputs(layer, reader);
    for (const Shape& factor : layer.input_shapes) {
      if (factor != layer.input() && factor != Shape{layer.input().channels, 1, 1}) {
        refuse(layer, reader, "an input and factors of its shape or of one value per channel");
      }
    }
    layer.output = layer.input();
    layer.cost.flops = (std::ssize(layer.input_shapes) - 1) * layer.output.elements();
  }
  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .zeros = Zeros::kIfAny};
  }
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    return two_by_two(Int8Op::kMultiply, steps);
  }
};

}  // namespace

void add_merges(KindList& kinds) {
  kinds.push_back(std::make_unique<Add>());
  kinds.push_back(std::make_unique<Concat>());
  kinds.push_back(std::make_unique<Multiply>());
}

}  // namespace skyline::space

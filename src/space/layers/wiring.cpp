// Kinds that only forward values, or output zeros.

#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Flatten final : public LayerKind {
 public:
  std::string_view name() const override { return "flatten"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = {layer.input().elements(), 1, 1};
  }
  Traits traits(const Layer& layer) const override {
    return {.features = Features::kFlattened,
            .is_identity = layer.output == layer.input(),
            .zeros = Zeros::kIfAll};
  }
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    if (traits(steps.layer()).is_identity) return steps.input();
    return steps.step(Int8Op::kView, {steps.input()}, steps.layer().output);
  }
};

class Identity final : public LayerKind {
 public:
  std::string_view name() const override { return "identity"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& layer, AttributeReader& /*reader*/) const override { layer.output = layer.input(); }
  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept,
            .distribution = Distribution::kKept,
            .is_identity = true,
            .zeros = Zeros::kIfAll};
  }
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override { return steps.input(); }
};

class Zero final : public LayerKind {
 public:
  std::string_view name() const override { return "zero"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["stride"] =
        reader.integer_or("stride", 1, 1, "Divides height and width, as that of a convolution does.");
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    const std::int64_t stride = attribute_integer(layer, "stride");
    layer.output = {layer.input().channels, sliding_output(layer.input().height, 1, stride, 0),
                    sliding_output(layer.input().width, 1, stride, 0)};
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .zeros = Zeros::kAlways};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    return steps.step(Int8Op::kZeros, {}, steps.layer().output);
  }
};

}  // namespace

void add_wiring(KindList& kinds) {
  kinds.push_back(std::make_unique<Flatten>());
  kinds.push_back(std::make_unique<Identity>());
  kinds.push_back(std::make_unique<Zero>());
}

}  // namespace skyline::space

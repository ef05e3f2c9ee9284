// Pooling. On a sequence, an input of height 1, a window has height 1.

#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

/// Returns the traits of pools with a sliding or an adaptive window. A window of one value is the identity.
Traits traits_of_pool(const Layer& layer, bool is_maximum) {
  return {.features = Features::kKept,
          .distribution = is_maximum ? Distribution::kKept : Distribution::kUnknown,
          .is_identity = layer.output == layer.input() && Window::of_pool(layer).kernel == Sides{1, 1},
          .zeros = Zeros::kIfAll};
}

/// Refuses a height that a sequence does not have. Height 1 is as good as none.
void check_of_sequence(const Layer& layer, AttributeReader& reader) {
  for (const auto& [name, neutral] :
       {std::pair{"kernel", 1}, std::pair{"stride", 1}, std::pair{"padding", 0}}) {
    const Value* const value = layer.attributes.find(name);
    const auto* const sides = value == nullptr ? nullptr : std::get_if<Sides>(value);
    if (sides == nullptr || (*sides)[0] == neutral) continue;
    reader.fail_at(name, "expected a number for a sequence, got " + to_text(*sides));
  }
}

Int8Tensor int8_pool(Int8Steps& steps, bool is_maximum, const Window& window) {
  return steps.step(is_maximum ? Int8Op::kMaxPool : Int8Op::kAveragePool, {steps.input()},
                    steps.layer().output, window);
}

Int8Tensor int8_global_pool(Int8Steps& steps, bool is_maximum) {
  return steps.step(is_maximum ? Int8Op::kMaximum : Int8Op::kMean, {steps.input()}, steps.layer().output);
}

class Pool final : public LayerKind {
 public:
  explicit Pool(bool is_maximum) : is_maximum_(is_maximum) {}
  std::string_view name() const override { return is_maximum_ ? "max_pool" : "average_pool"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    const Sides kernel = reader.sides("kernel", 1, "Height and width of the window.");
    layer.attributes["kernel"] = as_value(kernel);
    layer.attributes["stride"] = as_value(
        reader.sides_or("stride", 1, kernel, "Step of the window, both ways; the kernel unless given."));
    const Sides padding =
        reader.sides_or("padding", 0, {0, 0}, "Border around the input, of places that do not count.");
    if (padding[0] > kernel[0] / 2 || padding[1] > kernel[1] / 2) {
      reader.fail_at("padding", "expected at most half of kernel " + to_text(as_value(kernel)) + ", got " +
                                    to_text(as_value(padding)));
    }
    set_unless(layer, "padding", as_value(padding), 0);
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    if (layer.input().height == 1) check_of_sequence(layer, reader);
    layer.output = places_of(Window::of_pool(layer), layer, reader);
    layer.cost.flops = layer.input().elements();
  }

  Traits traits(const Layer& layer) const override { return traits_of_pool(layer, is_maximum_); }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    if (traits(steps.layer()).is_identity) return steps.input();
    return int8_pool(steps, is_maximum_, Window::of_pool(steps.layer()));
  }

 private:
  bool is_maximum_;
};

class GlobalPool final : public LayerKind {
 public:
  explicit GlobalPool(bool is_maximum) : is_maximum_(is_maximum) {}
  std::string_view name() const override { return is_maximum_ ? "global_max_pool" : "global_average_pool"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = {layer.input().channels, 1, 1};
    layer.cost.flops = layer.input().elements();
  }
  Traits traits(const Layer& layer) const override {
    return {
        .features = Features::kKept, .is_identity = layer.output == layer.input(), .zeros = Zeros::kIfAll};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    if (traits(steps.layer()).is_identity) return steps.input();
    return int8_global_pool(steps, is_maximum_);
  }

 private:
  bool is_maximum_;
};

class AdaptivePool final : public LayerKind {
 public:
  explicit AdaptivePool(bool is_maximum) : is_maximum_(is_maximum) {}
  std::string_view name() const override {
    return is_maximum_ ? "adaptive_max_pool" : "adaptive_average_pool";
  }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["size"] = reader.integer("size", 1, "Height and width of the output.");
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    const Shape& input = layer.input();
    const std::int64_t size = attribute_integer(layer, "size");
    layer.output = {input.channels, input.height > 1 ? size : 1, size};
    if (layer.output.height > input.height || size > input.width) {
      reader.fail("size " + std::to_string(size) + " is larger than its input " + to_text(input));
    }
    layer.cost.flops = input.elements();
  }

  Traits traits(const Layer& layer) const override { return traits_of_pool(layer, is_maximum_); }

  /// Windows of several sizes stay in float32.
  std::optional<Int8Tensor> int8(Int8Steps& steps) const override {
    const Shape& input = steps.layer().input();
    const Shape& output = steps.layer().output;
    if (output == input) return steps.input();
    if (output.height == 1 && output.width == 1) return int8_global_pool(steps, is_maximum_);
    if (input.height % output.height != 0 || input.width % output.width != 0) return steps.in_float();
    const std::array size{input.height / output.height, input.width / output.width};
    return int8_pool(steps, is_maximum_, {.kernel = size, .stride = size});
  }

 private:
  bool is_maximum_;
};

}  // namespace

void add_pools(KindList& kinds) {
  for (const bool is_maximum : {false, true}) {
    kinds.push_back(std::make_unique<Pool>(is_maximum));
    kinds.push_back(std::make_unique<GlobalPool>(is_maximum));
    kinds.push_back(std::make_unique<AdaptivePool>(is_maximum));
  }
}

}  // namespace skyline::space

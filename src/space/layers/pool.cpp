#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class MaxPool final : public LayerKind {
 public:
  std::string_view name() const override { return "max_pool"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    const std::int64_t kernel = reader.integer("kernel", 1, "Height and width of the window.");
    layer.attributes["kernel"] = kernel;
    layer.attributes["stride"] =
        reader.integer_or("stride", 1, kernel, "Step of the window, both ways; the kernel unless given.");
  }

  void infer(Layer& layer, AttributeReader& reader) const override {
    const Shape& input = layer.input();
    const std::int64_t kernel = attribute_integer(layer, "kernel");
    const std::int64_t stride = attribute_integer(layer, "stride");
    if (kernel > input.height || kernel > input.width) {
      reader.fail("kernel " + std::to_string(kernel) + " is larger than its input " + to_text(input));
    }
    layer.output = {input.channels, sliding_output(input.height, kernel, stride, 0),
                    sliding_output(input.width, kernel, stride, 0)};
    layer.cost.flops = input.elements();
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .distribution = Distribution::kKept};
  }
};

class GlobalAveragePool final : public LayerKind {
 public:
  std::string_view name() const override { return "global_average_pool"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = {layer.input().channels, 1, 1};
    layer.cost.flops = layer.input().elements();
  }
  Traits traits(const Layer& /*layer*/) const override { return {.features = Features::kKept}; }
};

}  // namespace

std::unique_ptr<LayerKind> make_max_pool() {
  return std::make_unique<MaxPool>();
}

std::unique_ptr<LayerKind> make_global_average_pool() {
  return std::make_unique<GlobalAveragePool>();
}

}  // namespace skyline::space

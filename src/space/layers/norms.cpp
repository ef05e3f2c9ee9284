#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

std::vector<TensorSpec> scale_and_shift(std::int64_t channels) {
  return {{"weight", {channels}, Initializer::kOnes, 0, true},
          {"bias", {channels}, Initializer::kZeros, 0, true}};
}

void read_epsilon(Layer& layer, AttributeReader& reader) {
  layer.attributes["epsilon"] =
      reader.number_or("epsilon", above(0), 1e-5, "Added to the variance before its root is taken.");
}

class BatchNorm final : public LayerKind {
 public:
  std::string_view name() const override { return "batch_norm"; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    read_epsilon(layer, reader);
    layer.attributes["momentum"] =
        reader.number_or("momentum", at_least(0).at_most(1), 0.1,
                         "Weight of the newest batch in the running mean and variance.");
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    const std::int64_t channels = layer.input().channels;
    layer.output = layer.input();
    layer.tensors = scale_and_shift(channels);
    layer.tensors.push_back({"running_mean", {channels}, Initializer::kZeros, 0, false});
    layer.tensors.push_back({"running_var", {channels}, Initializer::kOnes, 0, false});
    layer.cost.flops = 2 * layer.input().elements();  // scale and shift in evaluation mode
  }

  Traits traits(const Layer& /*layer*/) const override {
    return {.features = Features::kKept, .distribution = Distribution::kNormalized};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override { return steps.norm(steps.input()); }
};

/// Norms by statistics of the sample, the same in training and in evaluation mode.
class SampleNorm : public LayerKind {
 public:
  void infer(Layer& layer, AttributeReader& reader) const final {
    check(layer, reader);
    layer.output = layer.input();
    layer.cost.flops = 6 * layer.input().elements();  // two sums, a square, differences, a product
    if (!has_tensors(layer)) return;
    layer.tensors = scale_and_shift(layer.input().channels);
    layer.cost.flops += 2 * layer.input().elements();
  }
  Traits traits(const Layer& layer) const final {
    return {.features = Features::kKept, .zeros = has_tensors(layer) ? Zeros::kUnknown : Zeros::kIfAll};
  }
  std::optional<Int8Tensor> int8(Int8Steps& steps) const final { return steps.in_float(); }

 private:
  virtual void check(const Layer& /*layer*/, AttributeReader& /*reader*/) const {}
  virtual bool has_tensors(const Layer& /*layer*/) const { return true; }
};

class LayerNorm final : public SampleNorm {
 public:
  std::string_view name() const override { return "layer_norm"; }
  void read_attributes(Layer& layer, AttributeReader& reader) const override { read_epsilon(layer, reader); }
};

class GroupNorm final : public SampleNorm {
 public:
  std::string_view name() const override { return "group_norm"; }
  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["groups"] =
        reader.integer("groups", 1, "Parts of the channels, each with a mean and a variance.");
    read_epsilon(layer, reader);
  }

 private:
  void check(const Layer& layer, AttributeReader& reader) const override {
    const std::int64_t groups = attribute_integer(layer, "groups");
    if (layer.input().channels % groups != 0) {
      reader.fail_at("groups", "groups " + std::to_string(groups) + " do not divide the " +
                                   std::to_string(layer.input().channels) + " channels of the input");
    }
    if (layer.input().elements() == groups) {
      reader.fail_at("groups", "expected more than one value per group, got " + std::to_string(groups) +
                                   " groups of " + to_text(layer.input()));
    }
  }
};

class InstanceNorm final : public SampleNorm {
 public:
  std::string_view name() const override { return "instance_norm"; }
  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    read_epsilon(layer, reader);
    layer.attributes["affine"] =
        reader.flag_or("affine", false, "Whether each channel has a trained scale and shift.");
  }

 private:
  void check(const Layer& layer, AttributeReader& reader) const override {
    if (layer.input().height * layer.input().width == 1) {
      reader.fail("expected more than one place per channel, got " + to_text(layer.input()));
    }
  }
  bool has_tensors(const Layer& layer) const override { return attribute_flag(layer, "affine"); }
};

}  // namespace

void add_norms(KindList& kinds) {
  kinds.push_back(std::make_unique<BatchNorm>());
  kinds.push_back(std::make_unique<LayerNorm>());
  kinds.push_back(std::make_unique<GroupNorm>());
  kinds.push_back(std::make_unique<InstanceNorm>());
}

}  // namespace skyline::space

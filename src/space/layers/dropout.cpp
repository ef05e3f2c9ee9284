// Kinds that draw in training, and return their input in evaluation mode.

#include "space/layers/layers.hpp"

namespace skyline::space {
namespace {

class Drop final : public LayerKind {
 public:
  Drop(std::string_view name, double probability, std::string_view meaning)
      : name_(name), probability_(probability), meaning_(meaning) {}
  std::string_view name() const override { return name_; }

  void read_attributes(Layer& layer, AttributeReader& reader) const override {
    layer.attributes["probability"] =
        reader.number_or("probability", at_least(0).below(1), probability_, meaning_);
  }

  void infer(Layer& layer, AttributeReader& /*reader*/) const override {
    layer.output = layer.input();  // no FLOPs: the identity in evaluation mode
  }

  Traits traits(const Layer& layer) const override {
    return {.features = Features::kKept,
            .draws = true,
            .is_identity = attribute_number(layer, "probability") == 0,
            .zeros = Zeros::kIfAll};
  }

  std::optional<Int8Tensor> int8(Int8Steps& steps) const override { return steps.input(); }

 private:
  std::string_view name_;
  double probability_;
  std::string_view meaning_;
};

}  // namespace

void add_drops(KindList& kinds) {
  kinds.push_back(
      std::make_unique<Drop>("dropout", 0.5, "Probability of each value to become 0 in training."));
  kinds.push_back(std::make_unique<Drop>("stochastic_depth", 0.1,
                                         "Probability of a sample's values to become 0 in training, all at "
                                         "once; in a branch, this leaves the branch out."));
}

}  // namespace skyline::space

// Costs in int8 of spaces with layer kinds of a program.
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/layer_kind.hpp"
#include "skyline/space/search_space.hpp"

#include "space/quantized/int8_network.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace skyline::objective {
namespace {

using skyline::testing::config_from_yaml;
using skyline::testing::user_error_of;

/// A kind that says no int8 steps at all, or those of layers of more than four channels alone.
class Silent : public space::LayerKind {
 public:
  Silent(std::string name, bool asks) : name_(std::move(name)), asks_(asks) {}
  std::string_view name() const override { return name_; }
  void read_attributes(space::Layer& /*layer*/, space::AttributeReader& /*reader*/) const override {}
  void infer(space::Layer& layer, space::AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
  }
  std::optional<space::Int8Tensor> int8(space::Int8Steps& steps) const override {
    if (asks_ && steps.layer().output.channels > 4) return steps.in_float();
    return std::nullopt;
  }

 private:
  std::string name_;
  bool asks_;
};

space::SearchSpace space_with(const std::string& layer, const std::string& objective) {
  const ConfigNode root = config_from_yaml("objectives: [{minimize: " + objective + "}]", "a.yaml");
  const std::string space =
      "{parameters: {width: {choice: [4, 8]}}, network: "
      "[{conv2d: {channels: $width, kernel: 1}}, " +
      layer + "]}";
  return space::SearchSpace::parse(config_from_yaml(space, "a.yaml", "space"), {{1, 8, 8}, 0}, {}, {},
                                   first_aim(root, is_int8_cost));
}

TEST(Int8Kind, IsRefusedByTheCostsIfItSaysNothing) {
  space::register_layer_kind(std::make_unique<Silent>("silent", false));
  space::register_layer_kind(std::make_unique<Silent>("choosy", true));
  for (const std::string& kind : space::layer_kind_names()) {
    EXPECT_EQ(space::int8_problem({kind}, "costs").has_value(), kind == "silent") << kind;
  }
  EXPECT_EQ(user_error_of([&] { space_with("silent", "int8_weight_bytes"); }),
            "a.yaml:1:25: objectives[0].minimize: costs in int8 need the int8 steps of each layer, and the "
            "layer kind `silent` says none: write its LayerKind::int8");
  EXPECT_EQ(space_with("silent", "flops").costs().size(), space::kFloatCosts);
  const space::SearchSpace choosy = space_with("choosy", "int8_weight_bytes");
  EXPECT_FALSE(choosy.try_build({{0}}).architecture) << "without costs it is no architecture of the space";
  EXPECT_TRUE(choosy.try_build({{1}}).architecture);
}

}  // namespace
}  // namespace skyline::objective

#include "skyline/space/layer_kind.hpp"

#include "app/config/config_sections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::HasSubstr;

/// A kind that a program built on Skyline brings.
class Stretch final : public space::LayerKind {
 public:
  std::string_view name() const override { return "stretch"; }
  void read_attributes(space::Layer& layer, space::AttributeReader& reader) const override {
    layer.attributes["factor"] = reader.integer("factor", 2, "How far it stretches.");
    layer.attributes["share"] =
        reader.number_or("share", above(0).at_most(1), 0.5, "Of the features that are stretched.");
  }
  void infer(space::Layer& layer, space::AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
  }
};

TEST(ConfigSchema, ShowsALayerKindThatIsRegisteredAndThePageToo) {
  space::register_layer_kind(std::make_unique<Stretch>());
  const std::string page = configuration_page();
  EXPECT_THAT(page, HasSubstr("| `space.network.stretch.factor` | a whole number of at least 2 | must be "
                              "given | How far it stretches. |"));
  EXPECT_THAT(page, HasSubstr("| `space.network.stretch.share` | a number above 0 and at most 1 | `0.5` |"));
  const ConfigNode schema = config_schema();
  const ConfigNode& items = schema.at("properties").at("space").at("properties").at("network").at("items");
  EXPECT_EQ(items.at("anyOf").items()[1].at("properties").at("stretch").at("required").items()[0].as_text(),
            "factor");
}

}  // namespace
}  // namespace skyline::app

#include "skyline/core/config_node.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_record.hpp"
#include "core/record.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace skyline {
namespace {

using testing::config_from_yaml;
using testing::user_error_of;

ConfigNode scalar(const std::string& text, bool quoted = false) {
  return ConfigNode::make_scalar(text, {"a.yaml", 3, 5}, quoted);
}

TEST(ConfigNode, ReadsScalarsAsTheirTypes) {
  EXPECT_EQ(scalar("-12").as_integer(), -12);
  EXPECT_EQ(scalar("+7").as_integer(), 7);
  EXPECT_DOUBLE_EQ(scalar("1.0e-4").as_number(), 1e-4);
  EXPECT_DOUBLE_EQ(scalar("3").as_number(), 3.0);
  EXPECT_EQ(scalar(".inf").as_number(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(scalar("same").as_text(), "same");
}

TEST(ConfigNode, RefusesScalarsOfAnotherType) {
  EXPECT_EQ(user_error_of([] { scalar("3.5").as_integer(); }),
            "a.yaml:3:5: expected a whole number, got 3.5");
  EXPECT_EQ(user_error_of([] { scalar("99999999999999999999").as_integer(); }),
            "a.yaml:3:5: expected a whole number, got 99999999999999999999");
  EXPECT_EQ(user_error_of([] { scalar("nan").as_number(); }), "a.yaml:3:5: expected a number, got nan");
  EXPECT_EQ(user_error_of([] { scalar("1e999").as_number(); }), "a.yaml:3:5: expected a number, got 1e999");
  EXPECT_EQ(user_error_of([] { scalar("+-1").as_number(); }), "a.yaml:3:5: expected a number, got +-1");
  EXPECT_EQ(user_error_of([] { scalar("3", true).as_integer(); }),
            "a.yaml:3:5: expected a whole number, got \"3\"");
}

TEST(ConfigNode, NamesFileLineAndPathInErrors) {
  const ConfigNode root = config_from_yaml("space:\n  parameters:\n    depth: 3\n", "configs/a.yaml");
  const ConfigNode& depth = root.at("space").at("parameters").at("depth");
  EXPECT_EQ(depth.path(), "space.parameters.depth");
  EXPECT_EQ(user_error_of([&] { depth.fail_expected("a list of values"); }),
            "configs/a.yaml:3:12: space.parameters.depth: expected a list of values, got 3");
  EXPECT_EQ(user_error_of([&] { depth.items(); }),
            "configs/a.yaml:3:12: space.parameters.depth: expected a list, got 3");
  EXPECT_EQ(user_error_of([&] { root.at("space").at("network"); }),
            "configs/a.yaml:2:3: space: missing key `network`");
}

TEST(ConfigNode, LeavesUnknownPartsOutOfErrors) {
  EXPECT_EQ(user_error_of([] { ConfigNode().as_text(); }), "expected a text, got nothing");
  EXPECT_EQ(user_error_of([] {
              ConfigNode::make_scalar("x", {"--set", 0, 0}).as_integer();
            }),
            "--set: expected a whole number, got x");
}

TEST(ConfigNode, PathsNameListItems) {
  const ConfigNode root = config_from_yaml("network: [{repeat: 2, body: [relu, flatten]}]");
  EXPECT_EQ(root.at("network").items()[0].at("body").items()[1].path(), "network[0].body[1]");
}

TEST(ConfigNode, DescribesWhatIsThere) {
  EXPECT_EQ(config_from_yaml("[1, 2, 3, 4]").describe(), "a list of 4");
  EXPECT_EQ(config_from_yaml("[]").describe(), "an empty list");
  EXPECT_EQ(config_from_yaml("{a: 1}").describe(), "a map");
  EXPECT_EQ(config_from_yaml("{}").describe(), "an empty map");
  EXPECT_EQ(config_from_yaml("~").describe(), "nothing");
  EXPECT_EQ(scalar("a\nb").describe(), "a b");
  EXPECT_EQ(scalar(std::string(100, 'x')).describe(), std::string(57, 'x') + "...");
}

TEST(ConfigNode, SetReplacesAddsAndMakesMapsOnTheWay) {
  ConfigNode root = config_from_yaml("search: {iterations: 5}");
  root.set("search.iterations", scalar("3"));
  root.set("run.seed", scalar("9"));
  root.assign_paths();
  EXPECT_EQ(root.at("search").at("iterations").as_integer(), 3);
  EXPECT_EQ(root.at("run").at("seed").as_integer(), 9);
  EXPECT_EQ(root.at("run").at("seed").path(), "run.seed");
  EXPECT_EQ(user_error_of([&] { root.set("search.iterations.more", scalar("1")); }),
            "a.yaml:3:5: search.iterations: expected a map on the way to `more`, got 3");
}

TEST(ConfigNode, FirstDifferenceNamesTheKey) {
  const ConfigNode left = config_from_yaml("{a: 1, b: {c: [1, 2], rate: 1e-4}, text: same}");
  const auto difference = [&](const std::string& right) {
    return first_difference(left, config_from_yaml(right));
  };
  EXPECT_EQ(difference("{b: {rate: 0.0001, c: [1, 2]}, a: +1, text: \"same\"}"), "");
  EXPECT_EQ(difference("{a: 2, b: {c: [1, 2], rate: 1e-4}, text: same}"), "a");
  EXPECT_EQ(difference("{a: 1, b: {c: [1, 3], rate: 1e-4}, text: same}"), "b.c[1]");
  EXPECT_EQ(difference("{a: 1, b: {c: [1], rate: 1e-4}, text: same}"), "b.c");
  EXPECT_EQ(difference("{a: 1, b: {c: [1, 2]}, text: same}"), "b.rate");
  EXPECT_EQ(difference("{a: 1, b: {c: [1, 2], rate: 1e-4}, text: same, more: 1}"), "more");
  EXPECT_EQ(difference("{a: 1, b: 4, text: same}"), "b");
}

TEST(ConfigNode, TakesThePlacesOfWhatWasWrittenOrOfTheSectionAround) {
  ConfigNode complete = config_from_yaml("{run: {seed: 1, window: 4}, list: [a, b]}", "");
  complete.fill_positions(config_from_yaml("list: [c]\nrun:\n  seed: 1", "a.yaml"));
  const auto place_of = [&](const char* section, const char* key) {
    return user_error_of([&] { complete.at(section).at(key).fail("no"); });
  };
  EXPECT_EQ(place_of("run", "seed"), "a.yaml:3:9: run.seed: no");
  EXPECT_EQ(place_of("run", "window"), "a.yaml:3:3: run.window: no");
  EXPECT_EQ(user_error_of([&] { complete.at("list").items()[1].fail("no"); }), "a.yaml:1:7: list[1]: no");
}

TEST(ConfigNode, TravelsInARecordWithItsPlaces) {
  const ConfigNode sent = config_from_yaml("a: [1, '2', ~]\nb: {c: {}}", "a.yaml");
  ConfigNode read = from_record<ConfigNode>(to_record(sent));
  read.assign_paths();
  EXPECT_EQ(to_record(read), to_record(sent));
  EXPECT_TRUE(read.at("a").items()[1].quoted());
  for (const ConfigNode* tree : {&sent, &std::as_const(read)})
    EXPECT_EQ(user_error_of([&] { tree->at("b").at("c").fail("no"); }), "a.yaml:2:8: b.c: no");
}

TEST(ConfigNode, LargeIntegersDifferByOne) {
  EXPECT_EQ(first_difference(config_from_yaml("{seed: 9007199254740993}"),
                             config_from_yaml("{seed: 9007199254740992}")),
            "seed");
}

}  // namespace
}  // namespace skyline

// Mistakes in a space are reported when it is read, with place and key.
#include "skyline/space/layer_kind.hpp"

#include "core/text/wording.hpp"
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::HasSubstr;

const std::string kTail =
    "network: [{conv2d: {channels: $width, kernel: 1}}, global_average_pool, {linear: {features: $classes}}]";

std::string error_of(const std::string& text) {
  return user_error_of([&] { space_from_yaml(text); });
}
/// Expects that an item of a network is refused. @param key  below space.network[0]
void refuses_item(const std::string& item, int column, const std::string& key, const std::string& problem) {
  EXPECT_EQ(error_of("network:\n  - " + item),
            "a.yaml:2:" + std::to_string(column) + ": space.network[0]" + key + ": " + problem);
}
/// Expects that a parameter `width` is refused. @param key  below space.parameters.width
void refuses_parameter(const std::string& width, int column, const std::string& key,
                       const std::string& problem) {
  EXPECT_EQ(error_of("parameters:\n  width: " + width + "\n" + kTail),
            "a.yaml:2:" + std::to_string(column) + ": space.parameters.width" + key + ": " + problem);
}

TEST(SpaceErrors, NameMistakesInParameters) {
  refuses_parameter("3", 10, "", "expected {choice: [...]} or {range: [first, last]}, got 3");
  refuses_parameter("{choice: []}", 19, ".choice", "expected a list of values, got an empty list");
  refuses_parameter("{choice: 3}", 19, ".choice", "expected a list of values, got 3");
  refuses_parameter("{choice: [1, 2, 1]}", 26, ".choice[2]", "the value 1 is given twice");
  const std::string alike = " looks like another value in tables and arguments: give it another text";
  refuses_parameter("{choice: [1, \"1\"]}", 23, ".choice[1]", "\"1\"" + alike);
  refuses_parameter("{choice: [null, \"\"]}", 26, ".choice[1]", "\"\"" + alike);
  refuses_parameter("{choice: [null, \"null\"]}", 26, ".choice[1]", "\"null\"" + alike);
  refuses_parameter("{choice: [null, ~]}", 26, ".choice[1]", "the value null is given twice");
  refuses_parameter("{choice: [1, [2]]}", 23, ".choice[1]",
                    "expected a single value or [height, width], got a list of 1");
  refuses_parameter("{choice: [1, [3, 1.5]]}", 27, ".choice[1][1]", "expected a whole number, got 1.5");
  refuses_parameter("{choice: [[3, 1], \"[3, 1]\"]}", 28, ".choice[1]", "\"[3, 1]\"" + alike);
  refuses_parameter("{choise: [1]}", 11, "", "unknown key `choise`, did you mean `choice`?");
  refuses_parameter("{choice: [1], range: [1, 2]}", 10, "", "expected either `choice` or `range`");
  refuses_parameter("{weights: [1]}", 10, "", "expected either `choice` or `range`");
  refuses_parameter("{choice: [1, 2], weights: [1]}", 36, ".weights",
                    "expected a list of 2 weights, one for each value, got a list of 1");
  refuses_parameter("{choice: [1, 2], weights: [1, 0]}", 40, ".weights[1]",
                    "expected a weight above 0, got 0");
}

TEST(SpaceErrors, NameMistakesInRanges) {
  refuses_parameter("{range: [1]}", 18, ".range",
                    "expected [first, last] or [first, last, step], got a list of 1");
  refuses_parameter("{range: [5, 1]}", 18, ".range", "the range is empty: 5 is larger than 1");
  refuses_parameter("{range: [1, l6]}", 22, ".range[1]", "expected a number, got l6");
  refuses_parameter("{range: [1, .inf]}", 18, ".range",
                    "expected numbers between -2^53 and 2^53, got a list of 2");
  refuses_parameter("{range: [1, 5, 0]}", 25, ".range[2]", "expected a step above 0, got 0");
  refuses_parameter("{range: [1, 1024, 2], log: true}", 28, ".range[2]",
                    "a log range has a `count`, and no step");
  refuses_parameter("{range: [0, 1024], log: true, count: 3}", 19, ".range[0]",
                    "expected a number above 0 for a log range, got 0");
  refuses_parameter("{range: [0, 1], step: 1, count: 3}", 42, ".count", "the range has a step already");
  refuses_parameter("{range: [0, 1], count: 1}", 33, ".count",
                    "expected a whole number from 2 to 100000, got 1");
  refuses_parameter("{choice: [1, 5], log: true}", 10, "", "`log` goes with `range` only");
  refuses_parameter("{range: [1, 5, 2], step: 2}", 35, ".step", "the range has a step already");
  refuses_parameter("{choice: [1, 5], step: 2}", 33, ".step", "a step goes with `range` only");
  refuses_parameter("{range: [1, 1000000]}", 18, ".range", "the range has more than 100000 values");
  refuses_parameter("{range: [-9223372036854775807, 9223372036854775807]}", 18, ".range",
                    "expected numbers between -2^53 and 2^53, got a list of 2");
}

TEST(SpaceErrors, NameMistakesInParameterNames) {
  EXPECT_EQ(error_of("parameters:\n  2x: {choice: [1]}\n  width: {choice: [1]}\n" + kTail),
            "a.yaml:2:7: space.parameters.2x: a parameter's name is made of letters, digits and `_`, and "
            "starts with no digit");
  EXPECT_EQ(error_of("parameters:\n  classes: {choice: [1]}\n  width: {choice: [1]}\n" + kTail),
            "a.yaml:2:12: space.parameters.classes: `$classes` is the data's number of classes; choose "
            "another name");
  EXPECT_EQ(error_of("parameters:\n  width: {choice: [1]}\n  depth: {range: [1, 2]}\n" + kTail),
            "a.yaml:3:10: space.parameters.depth: nothing uses this parameter; write $depth in the network "
            "or in the evaluator's section, or leave the parameter out");
}

TEST(SpaceErrors, NameMistakesInNamesOfArgumentsAndRepetitions) {
  const auto block_error = [](const std::string& argument) {
    return error_of("blocks: {b: {arguments: {" + argument + ": 3}, body: [relu]}}\nnetwork: [b]");
  };
  EXPECT_THAT(block_error("classes"),
              HasSubstr("`$classes` is the data's number of classes; choose another"));
  EXPECT_THAT(block_error("2x"), HasSubstr("an argument's name is made of letters, digits and `_`"));
  const auto repeat_error = [](const std::string& name) {
    return error_of("network: [{repeat: 2, as: " + name + ", body: [relu]}]");
  };
  EXPECT_THAT(repeat_error("classes"),
              HasSubstr("`$classes` is the data's number of classes; choose another"));
  EXPECT_THAT(repeat_error("a-b"), HasSubstr("a number's name is made of letters, digits and `_`"));
}

TEST(SpaceErrors, NameMistakesInLayers) {
  refuses_item("conv2: {channels: 3, kernel: 1}", 5, "", "unknown layer `conv2`, did you mean `conv2d`?");
  EXPECT_EQ(error_of("network:\n  - transformer"),
            "a.yaml:2:5: space.network[0]: unknown layer `transformer`, known here: " +
                skyline::joined(layer_kind_names()));
  refuses_item("conv2d: {chanels: 3, kernel: 1}", 14, ".conv2d",
               "conv2d has no attribute `chanels`, did you mean `channels`?");
  refuses_item("relu: {slope: 1}", 12, ".relu", "relu has no attribute `slope`, none is known here");
  refuses_item("conv2d: 3", 13, ".conv2d", "expected a map of attributes, got 3");
  refuses_item("conv2d: {channels: [1], kernel: 1}", 24, ".conv2d.channels",
               "expected a single value or [height, width], got a list of 1");
  EXPECT_EQ(error_of("network:\n  - conv2d:\n    channels: 3"),
            "a.yaml:2:5: space.network[0]: expected one layer, as in `relu` or `conv2d: {channels: 16, "
            "kernel: 3}`, got a map");
  refuses_item("conv2d: {channels: 3, kernel: $kernl}", 35, ".conv2d.kernel",
               "in `$kernl`: unknown parameter `$kernl`, known here: $classes");
}

TEST(SpaceErrors, LongNamesAreQuotedShort) {
  const std::string name(900, 'n');
  const auto is_short = [](const std::string& error) { return !error.empty() && error.size() < 600; };
  for (const std::string& space : {
           "network:\n  - " + name,
           "network:\n  - relu: {" + name + ": 1}",
           "network:\n  - {relu: , when: $" + name + " == 1}",
           "network:\n  - {relu: , from: " + name + "}",
           "blocks: {" + name + ": [relu]}\nnetwork:\n  - " + name + ": {a: 1}",
           "blocks: {" + name + ": [" + name + "]}\nnetwork:\n  - " + name,
           "blocks: {" + name + ": [relu]}\nnetwork:\n  - transformer",
           "parameters: {" + name + ": {choice: [" + name + ", " + name + "]}}\n" + kTail,
           "parameters: {" + name + ": {choice: [" + name + "]}}\nnetwork:\n  - {relu: , when: $" + name +
               " + 1}",
           "parameters: {" + name + ": {choice: [1]}}\nnetwork: [flatten, linear: {features: 10}]",
       }) {
    EXPECT_PRED1(is_short, error_of(space));
  }
}

TEST(SpaceErrors, WhatStandsInTheWrongPlaceIsToldWhereItBelongs) {
  refuses_item("relu: {when: true}", 12, ".relu", "`when` belongs beside a layer, not in it");
  refuses_item("conv2d: {channels: {choice: [8, 16]}, kernel: 1}", 24, ".conv2d.channels",
               "a choice belongs under `parameters`, with a name; write $NAME here");
}

TEST(SpaceErrors, NameMistakesInSections) {
  EXPECT_EQ(error_of("{netwrk: [relu]}"), "a.yaml:1:2: space: unknown key `netwrk`, did you mean `network`?");
  EXPECT_EQ(error_of("{parameters: {}}"), "a.yaml:1:1: space: missing key `network`");
  EXPECT_EQ(error_of("network: []"),
            "a.yaml:1:10: space.network: expected a list of layers, got an empty list");
  EXPECT_EQ(error_of("network: relu"), "a.yaml:1:10: space.network: expected a list of layers, got relu");
  EXPECT_EQ(error_of("parameters: 3\nnetwork: [relu]"),
            "a.yaml:1:13: space.parameters: expected a map, got 3");
}

TEST(SpaceErrors, NameMistakesInRepeats) {
  refuses_item("{repeat: -1, body: [relu]}", 14, ".repeat", "expected a whole number of at least 0, got -1");
  refuses_item("{repeat: often, body: [relu]}", 14, ".repeat",
               "expected a whole number of at least 0, got often");
  EXPECT_EQ(
      error_of("parameters: {d: {range: [0, 3]}}\nnetwork:\n  - {repeat: $d - 2, body: [relu]}"),
      "a.yaml:3:14: space.network[0].repeat: expected a whole number of at least 0, got -2 from `$d - 2`");
  refuses_item("{repeat: 2}", 5, "", "missing key `body`");
  refuses_item("{body: [relu], as: i}", 24, ".as", "can be used with `repeat` only");
  refuses_item("{repeat: 2, body: [relu], each: true}", 31, "",
               "unknown key `each`, known here: repeat, as, body, name, from, when");
  refuses_item("{repeat: 2, body: []}", 23, ".body", "expected a list of layers, got an empty list");
  refuses_item("{repeat: 1000000000, body: [relu]}", 14, ".repeat",
               "expected at most 10000 repetitions, got 1000000000");
  refuses_item("{repeat: 10000, body: [relu, relu]}", 28, ".body[0]",
               "the network has more than 10000 layers");
  refuses_item("{repeat: 9999, body: [{repeat: 9999, body: [{repeat: 0, body: [relu]}]}]}", 48,
               ".body[0].body", "the network takes more than 1000000 steps to build");
}

TEST(SpaceErrors, TheOutputMustFitTheClasses) {
  EXPECT_EQ(error_of("network: [relu]"),
            "a.yaml:1:10: space.network: the network's output 1x28x28 of layer relu_0 does not fit the "
            "data's 10 classes; end it with linear: {features: $classes}");
  EXPECT_EQ(error_of("network: [flatten, {linear: {features: 9}}]"),
            "a.yaml:1:10: space.network: the network's output 9x1x1 of layer linear_0 does not fit the "
            "data's 10 classes; end it with linear: {features: $classes}");
  EXPECT_EQ(error_of("network: [{repeat: 0, body: [relu]}]"),
            "a.yaml:1:10: space.network: the network has no layers");
}

TEST(SpaceErrors, AnAttributeThatFitsForNoValueIsFoundWithoutAGenotype) {
  EXPECT_EQ(error_of("parameters: {d: {choice: [0, 1]}, w: {choice: [8, 16]}}\nnetwork:\n"
                     "  - {repeat: $d, body: [{conv2d: {channels: $w - 16, kernel: 1}}]}\n"
                     "  - flatten\n  - linear: {features: $classes}"),
            "a.yaml:3:45: space.network[0].body[0].conv2d.channels: layer conv2d: expected a whole number of "
            "at least 1, got -8 from `$w - 16`");
}

TEST(SpaceErrors, NameASpaceWithoutAnyNetworkThatBuilds) {
  EXPECT_EQ(
      error_of("parameters: {k: {choice: [31, 33]}}\nnetwork:\n"
               "  - conv2d: {channels: 1, kernel: $k, padding: 0}\n  - flatten\n  - linear: {features: 10}"),
      "a.yaml:3:3: space.network: none of the 2 combinations of parameters builds a network; the first "
      "problem: a.yaml:3:13: space.network[0].conv2d: layer conv2d_0: kernel 31 is larger than its input "
      "1x28x28");
  EXPECT_EQ(
      error_of("parameters: {k: {range: [30, 2000]}}\nnetwork:\n"
               "  - conv2d: {channels: 1, kernel: $k, padding: 0}\n  - flatten\n  - linear: {features: 10}"),
      "(nothing was thrown)")
      << "some that was not tried may build";
}

}  // namespace
}  // namespace skyline::space

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
std::string parameter_error(const std::string& width) {
  return error_of("parameters:\n  width: " + width + "\n" + kTail);
}

TEST(SpaceErrors, Parameters) {
  EXPECT_EQ(parameter_error("3"),
            "a.yaml:2:10: space.parameters.width: expected {choice: [...]} or {range: [first, last]}, got 3");
  EXPECT_EQ(parameter_error("{choice: []}"),
            "a.yaml:2:19: space.parameters.width.choice: expected a list of values, got an empty list");
  EXPECT_EQ(parameter_error("{choice: 3}"),
            "a.yaml:2:19: space.parameters.width.choice: expected a list of values, got 3");
  EXPECT_EQ(parameter_error("{choice: [1, 2, 1]}"),
            "a.yaml:2:26: space.parameters.width.choice[2]: the value 1 is given twice");
  EXPECT_EQ(parameter_error("{choice: [1, [2]]}"),
            "a.yaml:2:23: space.parameters.width.choice[1]: expected a single value, got a list of 1");
  EXPECT_EQ(parameter_error("{choise: [1]}"),
            "a.yaml:2:11: space.parameters.width: unknown key `choise`, did you mean `choice`?");
  EXPECT_EQ(parameter_error("{choice: [1], range: [1, 2]}"),
            "a.yaml:2:10: space.parameters.width: expected either `choice` or `range`");
  EXPECT_EQ(parameter_error("{weights: [1]}"),
            "a.yaml:2:10: space.parameters.width: expected either `choice` or `range`");
  EXPECT_EQ(
      parameter_error("{choice: [1, 2], weights: [1]}"),
      "a.yaml:2:36: space.parameters.width.weights: expected a list of 2 weights, one for each value, got "
      "a list of 1");
  EXPECT_EQ(parameter_error("{choice: [1, 2], weights: [1, 0]}"),
            "a.yaml:2:40: space.parameters.width.weights[1]: expected a weight above 0, got 0");
}

TEST(SpaceErrors, Ranges) {
  EXPECT_EQ(parameter_error("{range: [1]}"),
            "a.yaml:2:18: space.parameters.width.range: expected [first, last] or [first, last, step], got a "
            "list of 1");
  EXPECT_EQ(parameter_error("{range: [5, 1]}"),
            "a.yaml:2:18: space.parameters.width.range: the range is empty: 5 is larger than 1");
  EXPECT_EQ(parameter_error("{range: [1, 2.5]}"),
            "a.yaml:2:18: space.parameters.width.range: a range of fractions needs a `step` or a `count`");
  EXPECT_EQ(parameter_error("{range: [1, l6]}"),
            "a.yaml:2:22: space.parameters.width.range[1]: expected a number, got l6");
  EXPECT_EQ(
      parameter_error("{range: [1, .inf]}"),
      "a.yaml:2:18: space.parameters.width.range: expected numbers between -2^53 and 2^53, got a list of 2");
  EXPECT_EQ(parameter_error("{range: [1, 5, 0]}"),
            "a.yaml:2:25: space.parameters.width.range[2]: expected a step above 0, got 0");
  EXPECT_EQ(
      parameter_error("{range: [1, 1024], log: true}"),
      "a.yaml:2:18: space.parameters.width.range: a log range needs a `count`, the number of its values");
  EXPECT_EQ(parameter_error("{range: [0, 1024], log: true, count: 3}"),
            "a.yaml:2:19: space.parameters.width.range[0]: expected a number above 0 for a log range, got 0");
  EXPECT_EQ(parameter_error("{range: [0, 1], step: 1, count: 3}"),
            "a.yaml:2:42: space.parameters.width.count: the range has a step already");
  EXPECT_EQ(parameter_error("{range: [0, 1], count: 1}"),
            "a.yaml:2:33: space.parameters.width.count: expected a whole number from 2 to 100000, got 1");
  EXPECT_EQ(parameter_error("{choice: [1, 5], log: true}"),
            "a.yaml:2:10: space.parameters.width: `log` goes with `range` only");
  EXPECT_EQ(parameter_error("{range: [1, 5, 2], step: 2}"),
            "a.yaml:2:35: space.parameters.width.step: the range has a step already");
  EXPECT_EQ(parameter_error("{choice: [1, 5], step: 2}"),
            "a.yaml:2:33: space.parameters.width.step: a step goes with `range` only");
  EXPECT_EQ(parameter_error("{range: [1, 1000000]}"),
            "a.yaml:2:18: space.parameters.width.range: the range has more than 100000 values");
  EXPECT_EQ(
      parameter_error("{range: [-9223372036854775807, 9223372036854775807]}"),
      "a.yaml:2:18: space.parameters.width.range: expected numbers between -2^53 and 2^53, got a list of 2");
}

TEST(SpaceErrors, ParameterNames) {
  EXPECT_EQ(error_of("parameters:\n  2x: {choice: [1]}\n  width: {choice: [1]}\n" + kTail),
            "a.yaml:2:7: space.parameters.2x: a parameter's name is made of letters, digits and `_`, and "
            "starts with no "
            "digit");
  EXPECT_EQ(error_of("parameters:\n  classes: {choice: [1]}\n  width: {choice: [1]}\n" + kTail),
            "a.yaml:2:12: space.parameters.classes: `$classes` is the data's number of classes; choose "
            "another name");
  EXPECT_EQ(
      error_of("parameters:\n  width: {choice: [1]}\n  depth: {range: [1, 2]}\n" + kTail),
      "a.yaml:3:10: space.parameters.depth: nothing uses this parameter; write $depth in the network or in "
      "`training`, or leave the parameter out");
}

TEST(SpaceErrors, NamesOfArgumentsAndRepetitions) {
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

TEST(SpaceErrors, Layers) {
  EXPECT_EQ(error_of("network:\n  - conv2: {channels: 3, kernel: 1}"),
            "a.yaml:2:5: space.network[0]: unknown layer `conv2`, did you mean `conv2d`?");
  EXPECT_EQ(error_of("network:\n  - transformer"),
            "a.yaml:2:5: space.network[0]: unknown layer `transformer`, known here: " +
                skyline::joined(layer_kind_names()));
  EXPECT_EQ(error_of("network:\n  - conv2d: {chanels: 3, kernel: 1}"),
            "a.yaml:2:14: space.network[0].conv2d: conv2d has no attribute `chanels`, did you mean "
            "`channels`?");
  EXPECT_EQ(error_of("network:\n  - relu: {slope: 1}"),
            "a.yaml:2:12: space.network[0].relu: relu has no attribute `slope`, none is known here");
  EXPECT_EQ(error_of("network:\n  - conv2d: 3"),
            "a.yaml:2:13: space.network[0].conv2d: expected a map of attributes, got 3");
  EXPECT_EQ(error_of("network:\n  - conv2d: {channels: [1], kernel: 1}"),
            "a.yaml:2:24: space.network[0].conv2d.channels: expected a single value, got a list of 1");
  EXPECT_EQ(
      error_of("network:\n  - conv2d:\n    channels: 3"),
      "a.yaml:2:5: space.network[0]: expected one layer, as in `relu` or `conv2d: {channels: 16, kernel: "
      "3}`, got a "
      "map");
  EXPECT_EQ(
      error_of("network:\n  - conv2d: {channels: 3, kernel: $kernl}"),
      "a.yaml:2:35: space.network[0].conv2d.kernel: in `$kernl`: unknown parameter `$kernl`, known here: "
      "$classes");
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
  EXPECT_EQ(error_of("network:\n  - relu: {when: true}"),
            "a.yaml:2:12: space.network[0].relu: `when` stands beside a layer, not in it");
  EXPECT_EQ(
      error_of("network:\n  - conv2d: {channels: {choice: [8, 16]}, kernel: 1}"),
      "a.yaml:2:24: space.network[0].conv2d.channels: a choice stands under `parameters`, with a name; write "
      "$NAME here");
}

TEST(SpaceErrors, Sections) {
  EXPECT_EQ(error_of("{netwrk: [relu]}"), "a.yaml:1:2: space: unknown key `netwrk`, did you mean `network`?");
  EXPECT_EQ(error_of("{parameters: {}}"), "a.yaml:1:1: space: missing key `network`");
  EXPECT_EQ(error_of("network: []"),
            "a.yaml:1:10: space.network: expected a list of layers, got an empty list");
  EXPECT_EQ(error_of("network: relu"), "a.yaml:1:10: space.network: expected a list of layers, got relu");
  EXPECT_EQ(error_of("parameters: 3\nnetwork: [relu]"),
            "a.yaml:1:13: space.parameters: expected a map, got 3");
}

TEST(SpaceErrors, Repeats) {
  EXPECT_EQ(error_of("network:\n  - {repeat: -1, body: [relu]}"),
            "a.yaml:2:14: space.network[0].repeat: expected a whole number of at least 0, got -1");
  EXPECT_EQ(error_of("network:\n  - {repeat: often, body: [relu]}"),
            "a.yaml:2:14: space.network[0].repeat: expected a whole number of at least 0, got often");
  EXPECT_EQ(
      error_of("parameters: {d: {range: [0, 3]}}\nnetwork:\n  - {repeat: $d - 2, body: [relu]}"),
      "a.yaml:3:14: space.network[0].repeat: expected a whole number of at least 0, got -2 from `$d - 2`");
  EXPECT_EQ(error_of("network:\n  - {repeat: 2}"), "a.yaml:2:5: space.network[0]: missing key `body`");
  EXPECT_EQ(error_of("network:\n  - {body: [relu], as: i}"),
            "a.yaml:2:24: space.network[0].as: stands beside `repeat` only");
  EXPECT_EQ(
      error_of("network:\n  - {repeat: 2, body: [relu], each: true}"),
      "a.yaml:2:31: space.network[0]: unknown key `each`, known here: repeat, as, body, name, from, when");
  EXPECT_EQ(error_of("network:\n  - {repeat: 2, body: []}"),
            "a.yaml:2:23: space.network[0].body: expected a list of layers, got an empty list");
  EXPECT_EQ(error_of("network:\n  - {repeat: 1000000000, body: [relu]}"),
            "a.yaml:2:14: space.network[0].repeat: expected at most 10000 repetitions, got 1000000000");
  EXPECT_EQ(error_of("network:\n  - {repeat: 10000, body: [relu, relu]}"),
            "a.yaml:2:28: space.network[0].body[0]: the network has more than 10000 layers");
  EXPECT_EQ(
      error_of("network:\n  - {repeat: 9999, body: [{repeat: 9999, body: [{repeat: 0, body: [relu]}]}]}"),
      "a.yaml:2:48: space.network[0].body[0].body: the network takes more than 1000000 steps to build");
}

TEST(SpaceErrors, TheOutputMustFitTheClasses) {
  EXPECT_EQ(
      error_of("network: [relu]"),
      "a.yaml:1:10: space.network: the network's output 1x28x28 of layer relu_0 does not fit the data's "
      "10 classes; "
      "end it with linear: {features: $classes}");
  EXPECT_EQ(
      error_of("network: [flatten, {linear: {features: 9}}]"),
      "a.yaml:1:10: space.network: the network's output 9x1x1 of layer linear_0 does not fit the data's "
      "10 classes; "
      "end it with linear: {features: $classes}");
  EXPECT_EQ(error_of("network: [{repeat: 0, body: [relu]}]"),
            "a.yaml:1:10: space.network: the network has no layers");
}

TEST(SpaceErrors, AnAttributeThatFitsForNoValueIsFoundWithoutAGenotype) {
  EXPECT_EQ(
      error_of("parameters: {d: {choice: [0, 1]}, w: {choice: [8, 16]}}\nnetwork:\n"
               "  - {repeat: $d, body: [{conv2d: {channels: $w - 16, kernel: 1}}]}\n"
               "  - flatten\n  - linear: {features: $classes}"),
      "a.yaml:3:45: space.network[0].body[0].conv2d.channels: layer conv2d: expected a whole number of at "
      "least 1, "
      "got -8 from `$w - 16`");
}

TEST(SpaceErrors, ASpaceWithoutAnyNetworkThatBuilds) {
  EXPECT_EQ(
      error_of("parameters: {k: {choice: [31, 33]}}\nnetwork:\n"
               "  - conv2d: {channels: 1, kernel: $k, padding: 0}\n  - flatten\n  - linear: {features: 10}"),
      "a.yaml:3:3: space.network: none of the 2 combinations of parameters builds a network; the first "
      "problem: "
      "a.yaml:3:13: space.network[0].conv2d: layer conv2d_0: kernel 31 is larger than its input 1x28x28");
  EXPECT_THAT(
      error_of("parameters: {k: {range: [30, 2000]}}\nnetwork:\n"
               "  - conv2d: {channels: 1, kernel: $k, padding: 0}\n  - flatten\n  - linear: {features: 10}"),
      HasSubstr("none of 1000 random combinations of parameters builds a network"));
}

}  // namespace
}  // namespace skyline::space

// Large and hostile spaces are read, or refused in one line, within seconds.
#include "core/text/wording.hpp"
#include "space/space_from_yaml.hpp"
#include "support/cpu_seconds.hpp"
#include "support/user_error_of.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::joined;
using skyline::testing::thread_cpu_seconds;
using skyline::testing::user_error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kSeconds = 60;  // a fraction of it here; what these tests are against takes minutes

const std::string kLinear = "  - flatten\n  - linear: {features: $classes}\n";

/// The error of a space, which is one line and comes soon.
std::string bounded_error(const std::string& text) {
  const double before = thread_cpu_seconds();
  const std::string error = user_error_of([&] { space_from_yaml(text); });
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
  EXPECT_LT(error.size(), 500U);
  return error;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SpaceBounds, AChoiceOfAHundredThousandValuesIsReadAtOnce) {
  std::vector<std::string> values;
  for (int i = 1; i <= 100'000; ++i) values.push_back(std::to_string(i));
  const auto text = [&] {
    return "parameters: {w: {choice: [" + joined(values) + "]}}\nnetwork:\n  - flatten\n" +
           "  - linear: {features: $w}\n" + "  - linear: {features: $classes}\n";
  };
  const double before = thread_cpu_seconds();
  EXPECT_EQ(space_from_yaml(text()).genotype_count(), 100'000);
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
  values.push_back("7");
  EXPECT_EQ(bounded_error(text()),
            "a.yaml:1:26: space.parameters.w.choice: the choice has more than 100000 values");
  values[1] = "100000";
  values.pop_back();
  EXPECT_EQ(bounded_error(text()),
            "a.yaml:1:688919: space.parameters.w.choice[99999]: the value 100000 is given twice");
}

TEST(SpaceBounds, ParametersHaveAMillionValuesInAllAndTwoMillionAtTheirPlaces) {
  const std::string space =
      "parameters: {w: {range: [1, 100000], each: true}}\nnetwork:\n"
      "  - {repeat: 20, body: [{linear: {features: $w}}]}\n" +
      kLinear;
  EXPECT_THAT(bounded_error(space),
              StartsWith("a.yaml:3:25: space.network[0].body[0]: the space takes too long to read: "));
  std::string parameters;
  for (int i = 0; i < 20; ++i)
    parameters += "  w" + std::to_string(i) + ": {range: [1, 100000], each: true}\n";
  EXPECT_EQ(
      bounded_error("parameters:\n" + parameters + "network:\n" + kLinear),
      "a.yaml:12:8: space.parameters.w10: the parameters of the space have more than 1000000 values in all");
  parameters.clear();
  for (int i = 0; i < 501; ++i) parameters += "  w" + std::to_string(i) + ": {range: [1, 2]}\n";
  EXPECT_EQ(bounded_error("parameters:\n" + parameters + "network:\n" + kLinear),
            "a.yaml:2:3: space.parameters: expected at most 500 parameters, got 501");
}

TEST(SpaceBounds, AnExpressionOfMegabytesIsRefusedAndALongNameIsRead) {
  EXPECT_EQ(bounded_error("network:\n  - linear: {features: $" + std::string(3'000'000, 'a') + "}\n"),
            "a.yaml:2:24: space.network[0].linear.features: the expression has more than 10000 characters");
  const std::string name(1'000, 'a');
  const std::string space = "parameters: {" + name + ": {choice: [1, 2]}}\nnetwork:\n" +
                            repeated("  - {relu: , when: $" + name + " == 1}\n", 1000) + kLinear;
  const double before = thread_cpu_seconds();
  EXPECT_EQ(space_from_yaml(space).genotype_count(), 2);
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
}

TEST(SpaceBounds, ThousandsOfEqualAlternativesHaveNamesAtOnce) {
  const std::string text = "network:\n  - one_of: [" + repeated("relu, ", 9'000) + "tanh]\n" + kLinear;
  const double before = thread_cpu_seconds();
  const SearchSpace space = space_from_yaml(text);
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
  const std::vector<Value>& values = space.parameters().front().values;
  EXPECT_EQ(to_text(values[1]), "relu_2");
  EXPECT_EQ(to_text(values[8'999]), "relu_9000");
}

TEST(SpaceBounds, ThousandsOfUnnamedChoicesHaveNamesAtOnce) {
  EXPECT_THAT(bounded_error("network:\n" + repeated("  - one_of: [relu, tanh]\n", 4'000) + kLinear),
              HasSubstr("the space has 4000 parameters"));
}

TEST(SpaceBounds, WorkOnExpressionsIsBounded) {
  // Each condition has 10,000 combinations, or compares with 100,000 values.
  EXPECT_THAT(bounded_error("parameters: {a: {range: [1, 100]}, b: {range: [1, 100]}}\nnetwork:\n" +
                            repeated("  - {relu: , when: $a == $b * $b + 3}\n", 5'000) + kLinear),
              HasSubstr("the space takes too long to read"));
  EXPECT_THAT(bounded_error("parameters: {a: {range: [1, 100000]}}\nnetwork:\n" +
                            repeated("  - linear: {features: $a + $a + $a + $a}\n", 5'000) + kLinear),
              HasSubstr("the space takes too long to read"));
}

TEST(SpaceBounds, WhatIsTooLargeIsNamedWithItsPlace) {
  EXPECT_THAT(bounded_error("parameters: {a: {range: [1, 100]}, b: {range: [1, 100]}}\nnetwork:\n" +
                            repeated("  - {relu: , when: $a == $b * $b + 3}\n", 5'000) + kLinear),
              ::testing::MatchesRegex("a.yaml:[0-9]+:5: space.network.[0-9]+.: the space takes too long .*"));
  EXPECT_THAT(
      bounded_error("blocks:\n  a: [" + repeated("relu, ", 2'000) + "tanh]\nnetwork:\n" +
                    repeated("  - a\n", 20) + kLinear),
      ::testing::MatchesRegex("a.yaml:2:[0-9]+: space.blocks.a.[0-9]+.: the space takes too long .*"));
}

TEST(SpaceBounds, ConnectionsOfANetworkAreCounted) {
  std::string names;
  std::string network = "network:\n";
  for (int i = 0; i < 240; ++i) {
    const std::string name = "n" + std::to_string(i);
    network += "  - {conv2d: {channels: 1, kernel: 1}, from: input, name: " + name + "}\n";
    names += name + ", ";
  }
  const auto with_sums = [&](int count) {
    return network + "  - repeat: " + std::to_string(count) + "\n    body:\n      - {add: , from: [" + names +
           "previous]}\n      - relu\n" + kLinear;
  };
  const double before = thread_cpu_seconds();
  EXPECT_EQ(space_from_yaml(with_sums(400)).genotype_count(), 1);
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
  EXPECT_EQ(bounded_error(with_sums(4'000)),
            "a.yaml:244:9: space.network[240].body[0]: the network has more than 100000 connections");
}

TEST(SpaceBounds, ManyMistakesEndTheReading) {
  const std::string text = "network:\n" + repeated("  - rleu\n", 15'000);
  const double before = thread_cpu_seconds();
  const std::string errors = user_error_of([&] { space_from_yaml(text); });
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
  EXPECT_THAT(errors, HasSubstr("and 961 more mistakes"));
}

TEST(SpaceBounds, AWordOfAMegabyteIsComparedWithNoOtherOne) {
  const std::string text =
      "network:\n  - &long " + std::string(1'000'000, 'z') + "\n" + repeated("  - *long\n", 20);
  const double before = thread_cpu_seconds();
  EXPECT_THAT(user_error_of([&] { space_from_yaml(text); }), HasSubstr("known here: "));
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
}

TEST(SpaceBounds, DeepNetworksThatDoNotBuildAreTriedForSeconds) {
  // Others than those that were tried may build, so the space is not refused.
  EXPECT_EQ(bounded_error("parameters: {a: {range: [1, 1000]}}\nnetwork:\n"
                          "  - flatten\n  - {repeat: 9990, body: [tanh]}\n"
                          "  - linear: {features: $a + 10}\n"),
            "(nothing was thrown)");
  // A condition that is long is as much work as many layers.
  EXPECT_EQ(
      bounded_error("parameters: {a: {range: [1, 1000]}}\nnetwork:\n"
                    "  - repeat: 10000\n    body:\n" +
                    repeated("      - {relu: , when: $a" + repeated(" + 1", 400) + " == 0}\n", 20) + kLinear),
      "(nothing was thrown)");
}

TEST(SpaceBounds, TheStrideOfAProjectionIsFoundAtOnce) {
  const double before = thread_cpu_seconds();
  const std::string list =
      "  - conv2d: {channels: 1, kernel: 1, padding: 1000000}\n"
      "  - residual: [{conv2d: {channels: 1, kernel: 1, stride: 1000000}}]\n" +
      repeated("  - residual: [{conv2d: {channels: 1, kernel: 1, stride: 2}}]\n", 3) + kLinear;
  const Network network = network_from_yaml(list);
  EXPECT_LT(thread_cpu_seconds() - before, kSeconds);
  EXPECT_EQ(network.layers.back().output, (Shape{10, 1, 1}));
  EXPECT_THAT(
      bounded_error("network:\n  - residual: [{conv2d: {channels: 1, kernel: 1, padding: 3}}]\n" + kLinear),
      HasSubstr("no stride takes the input 1x28x28 to the body's output 1x34x34"));
}

TEST(SpaceBounds, NamesAreRefusedThatAreTooLongForTheColumnsOfAFile) {
  const auto text = [](std::size_t parameters, std::size_t letters) {
    std::string declared = "parameters:\n";
    std::string network = "network:\n  - global_average_pool\n";
    for (std::size_t i = 0; i < parameters; ++i) {
      std::string name = "p" + std::to_string(i);
      name.resize(letters, 'x');
      declared += "  " + name + ": {range: [1, 2]}\n";
      network += "  - linear: {features: $" + name + "}\n";
    }
    return declared + network + "  - linear: {features: $classes}\n";
  };
  EXPECT_EQ(space_from_yaml(text(500, 60)).parameters().size(), 500U);
  EXPECT_EQ(
      bounded_error(text(500, 100)),
      "a.yaml:2:3: space.parameters: the names of the space's 500 parameters have 50000 letters in all, "
      "with their places, which is too long for run.h5; expected 30000 at most");
  EXPECT_EQ(space_from_yaml(text(3, 1000)).parameters().size(), 3U);
}

}  // namespace
}  // namespace skyline::space

// The language of spaces: ranges, conditions, repetitions, blocks and choices.
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kEnd = "  - global_average_pool\n  - linear: {features: $classes}\n";

std::vector<std::string> names_of(const SearchSpace& space) {
  std::vector<std::string> names;
  for (const Parameter& parameter : space.parameters()) names.push_back(parameter.name);
  return names;
}

std::vector<std::string> values_of(const std::string& parameter) {
  const SearchSpace space =
      space_from_yaml("parameters: {p: " + parameter + "}\nnetwork:\n  - {relu: , when: $p > 1}\n" + kEnd);
  std::vector<std::string> values;
  for (const Value& value : space.parameters()[0].values) values.push_back(to_text(value));
  return values;
}

/// Channels of the convolutions that a genotype builds.
std::vector<std::int64_t> channels(const SearchSpace& space, const std::vector<std::uint32_t>& choices) {
  std::vector<std::int64_t> channels;
  for (const Layer& layer : space.build({choices}).network().layers) {
    if (layer.kind == "conv2d") channels.push_back(layer.output.channels);
  }
  return channels;
}

std::string language_error(const std::string& text) {
  return user_error_of([&] { space_from_yaml(text); });
}

TEST(Language, RangesHaveStepsCountsAndFractions) {
  EXPECT_THAT(values_of("{range: [3, 7, 2]}"), ElementsAre("3", "5", "7"));
  EXPECT_THAT(values_of("{range: [0.1, 0.7], step: 0.2}"), ElementsAre("0.1", "0.3", "0.5", "0.7"));
  EXPECT_THAT(values_of("{range: [7, 8], count: 3}"), ElementsAre("7", "8"));
  EXPECT_THAT(values_of("{range: [7.0, 8], count: 3}"), ElementsAre("7.0", "7.5", "8.0"));
  EXPECT_THAT(values_of("{range: [7, 448], log: true, count: 7}"),
              ElementsAre("7", "14", "28", "56", "112", "224", "448"));
  EXPECT_THAT(values_of("{range: [7.0e-4, 7.0], log: true, count: 9}"),
              ElementsAre("7e-04", "0.002214", "0.007", "0.02214", "0.07", "0.2214", "0.7", "2.214", "7.0"));
  const std::vector<std::string> hundred = values_of("{range: [1.0e-5, 1.0e-1], log: true}");
  ASSERT_EQ(hundred.size(), 100U);
  EXPECT_EQ(hundred[1], "1.097e-05");
  EXPECT_EQ(hundred.back(), "0.1");
  EXPECT_THAT(values_of("{range: [2, 4], log: true}"), ElementsAre("2", "3", "4"));
}

TEST(Language, ARangeOfFractionsHasAsManyValuesAsFourDigitsTellApart) {
  const std::vector<std::string> thousand = values_of("{range: [0, 0.5]}");
  ASSERT_EQ(thousand.size(), 1000U);
  EXPECT_EQ(thousand.front(), "0.0");
  EXPECT_EQ(thousand[1], "0.0005005");
  EXPECT_EQ(thousand.back(), "0.5");
  EXPECT_THAT(values_of("{range: [0.999, 1.002]}"), ElementsAre("0.999", "1.0", "1.001", "1.002"));
  EXPECT_THAT(values_of("{range: [0.0, 0.0]}"), ElementsAre("0.0"));
}

TEST(Language, AnItemWithoutItsConditionPassesItsInputOn) {
  const SearchSpace space = space_from_yaml(R"(
parameters: {kind: {range: [1, 3]}, width: {choice: [4, 8]}}
network:
  - when: $kind == 2
    conv2d: {channels: $width, kernel: 1}
  - when: $kind != 2 and $kind < 3
    body: [{conv2d: {channels: 2, kernel: 1}}, relu]
)" + kEnd);
  EXPECT_THAT(channels(space, {0, 0}), ElementsAre(2));
  EXPECT_THAT(channels(space, {1, 1}), ElementsAre(8));
  EXPECT_THAT(channels(space, {2, 0}), ElementsAre());
  EXPECT_EQ(space.build({{0, 0}}).used, (std::vector<bool>{true, false}));
  EXPECT_EQ(space.build({{0, 0}}).id, space.build({{0, 1}}).id);
}

TEST(Language, EachDrawsAnewInEveryRepetition) {
  const SearchSpace space = space_from_yaml(R"(
parameters:
  width: {choice: [2, 4, 8], each: true}
  depth: {range: [1, 3]}
network:
  - repeat: $depth
    body: [{conv2d: {channels: $width, kernel: 1}}, relu]
)" + kEnd);
  EXPECT_THAT(names_of(space), ElementsAre("depth", "width.0", "width.1", "width.2"));
  EXPECT_THAT(channels(space, {2, 0, 1, 2}), ElementsAre(2, 4, 8));
  EXPECT_THAT(channels(space, {1, 2, 1, 0}), ElementsAre(8, 4));
  EXPECT_EQ(space.build({{1, 2, 1, 0}}).used, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(space.build({{1, 2, 1, 0}}).id, space.build({{1, 2, 1, 2}}).id);
  EXPECT_EQ(space.describe({{0, 2, 0, 0}}), "depth=1 width.0=8 width.1=2 width.2=2");
}

TEST(Language, ARepetitionCountsFromZero) {
  const SearchSpace space = space_from_yaml(R"(
network:
  - repeat: 3
    as: stage
    body:
      - conv2d:
          channels: 4 * 2 ** $stage
          kernel: 3
          stride: if($stage == 0, 1, 2)
)" + kEnd);
  EXPECT_THAT(channels(space, {}), ElementsAre(4, 8, 16));
  EXPECT_EQ(space.build({}).network().layers[2].output, (Shape{16, 7, 7}));
}

TEST(Language, BlocksTakeArgumentsAndAreUsedAgain) {
  const SearchSpace space = space_from_yaml(R"(
parameters: {width: {choice: [2, 4]}, kernel: {choice: [1, 3], each: true}}
blocks:
  conv:
    arguments: {channels: , kernel: 3, activation: relu}
    body:
      - conv2d: {channels: $channels, kernel: $kernel}
      - $activation
  stage:
    arguments: {channels, depth: 1}
    body:
      - repeat: $depth
        body: [{conv: {channels: $channels, kernel: $kernel}}]
network:
  - conv: {channels: $width}
  - stage: {channels: $width * 2, depth: 2}
  - stage: {channels: 3}
)" + kEnd);
  EXPECT_THAT(names_of(space), ElementsAre("width", "kernel.stage_0.0.conv_0", "kernel.stage_0.1.conv_0",
                                           "kernel.stage_1.0.conv_0"));
  EXPECT_THAT(channels(space, {1, 0, 0, 0}), ElementsAre(4, 8, 8, 3));
  const Network network = space.build({{0, 1, 0, 0}}).network();
  EXPECT_EQ(attribute_integer(network.layers[0], "kernel"), 3);
  EXPECT_EQ(attribute_integer(network.layers[2], "kernel"), 3);
  EXPECT_EQ(attribute_integer(network.layers[4], "kernel"), 1);
  EXPECT_EQ(network.layers[1].kind, "relu");
}

TEST(Language, AnOperationIsChosenByItsName) {
  const SearchSpace space = space_from_yaml(R"(
parameters: {op: {choice: [wide, max_pool, narrow]}}
blocks:
  wide: {arguments: {kernel: 1}, body: [{conv2d: {channels: 8, kernel: $kernel}}]}
  narrow: {arguments: {kernel: 1}, body: [{conv2d: {channels: 2, kernel: $kernel}}]}
network:
  - $op: {kernel: 3}
)" + kEnd);
  EXPECT_THAT(channels(space, {0}), ElementsAre(8));
  EXPECT_THAT(channels(space, {2}), ElementsAre(2));
  EXPECT_EQ(space.build({{1}}).network().layers[0].kind, "max_pool");
}

TEST(Language, OneOfSeveralBlocksHasAReadableNameOfItsOwn) {
  const SearchSpace space = space_from_yaml(R"(
network:
  - one_of: [relu, [batch_norm, relu], [], {conv2d: {channels: 2, kernel: 1}}, {conv2d: {channels: 4, kernel: 1}}]
    weights: [1, 1, 2, 1, 1]
  - repeat: 2
    body:
      - one_of: [relu, batch_norm]
        name: after
        each: true
)" + kEnd);
  EXPECT_THAT(names_of(space), ElementsAre("one_of_0", "after.0", "after.1"));
  EXPECT_EQ(space.describe({{4, 0, 1}}), "one_of_0=conv2d_2 after.0=relu after.1=batch_norm");
  EXPECT_EQ(space.describe({{2, 0, 1}}), "one_of_0=nothing after.0=relu after.1=batch_norm");
  EXPECT_EQ(space.parameters()[0].weights, (std::vector<double>{1, 1, 2, 1, 1}));
  EXPECT_THAT(channels(space, {4, 0, 0}), ElementsAre(4));
  EXPECT_EQ(space.build({{2, 0, 1}}).network().layers[0].kind, "relu");
  EXPECT_EQ(space.build({{2, 0, 1}}).network().layers[1].kind, "batch_norm");
}

TEST(Language, AllMistakesAreReportedAtOnceAndEachOnce) {
  EXPECT_EQ(
      language_error(R"(
parameters:
  width: {choice: [8, 8]}
  depth: {rnage: [1, 2]}
blocks:
  conv: {body: [{conv2d: {channels: $width, kernal: 3}}]}
network:
  - conv
  - conv
  - repeat: $depth
    body: [rellu]
  - linear: {features: $clases})"),
      "a.yaml:3:23: space.parameters.width.choice[1]: the value 8 is given twice\n"
      "a.yaml:4:11: space.parameters.depth: unknown key `rnage`, did you mean `range`?\n"
      "a.yaml:6:45: space.blocks.conv.body[0].conv2d: conv2d has no attribute `kernal`, did you mean "
      "`kernel`?\n"
      "a.yaml:12:24: space.network[3].linear.features: in `$clases`: unknown parameter `$clases`, did you "
      "mean `$classes`?");
}

TEST(Language, RefusesWrongUsesOfBlocksAndChoices) {
  const std::string block = "blocks: {b: {arguments: {n: }, body: [{conv2d: {channels: $n, kernel: 1}}]}}\n";
  EXPECT_EQ(language_error(block + "network: [b]"),
            "a.yaml:1:38: space.blocks.b.body: block b needs the argument `n`");
  EXPECT_EQ(language_error(block + "network: [{b: {m: 3}}]"),
            "a.yaml:2:16: space.network[0].b: block b has no argument `m`, known here: n");
  EXPECT_THAT(language_error(block + "network: [{b: {n: 3}}, {c: {n: 3}}]"),
              AllOf(StartsWith("a.yaml:2:24: space.network[1]: unknown layer `c`, known here: adaptive_"),
                    HasSubstr(", average_pool, b, batch_norm, ")));
  EXPECT_EQ(language_error("blocks: {relu: [batch_norm]}\nnetwork: [relu]"),
            "a.yaml:1:16: space.blocks.relu: `relu` is a word of the language or a layer; choose another");
  EXPECT_EQ(language_error("blocks: {a: [b], b: [relu, a]}\nnetwork: [a]"),
            "a.yaml:1:13: space.blocks.a: a block cannot contain itself: a > b > a");
  EXPECT_EQ(language_error("parameters: {op: {choice: [relu, rellu]}}\nnetwork: [$op]"),
            "a.yaml:2:11: space.network[0]: unknown layer `rellu`, did you mean `relu`?");
  EXPECT_EQ(language_error("parameters: {op: {choice: [relu, 3]}}\nnetwork: [$op]"),
            "a.yaml:2:11: space.network[0]: expected names of layers or blocks, got 3 from `$op`");
  EXPECT_EQ(language_error("network: [{one_of: [relu]}]"),
            "a.yaml:1:20: space.network[0].one_of: expected a list of two items or more, got a list of 1");
  EXPECT_EQ(language_error("network: [{when: 3, relu: }]"),
            "a.yaml:1:18: space.network[0].when: expected true or false, got 3");
}

TEST(Language, SpacesThatExplodeAreRefusedBeforeTheyTakeMemory) {
  std::string blocks = "blocks:\n  b0: [relu]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "b" + std::to_string(i - 1);
    blocks += "  b" + std::to_string(i) + ": [" + before + ", " + before + ", " + before + "]\n";
  }
  EXPECT_THAT(
      language_error(blocks + "network: [b29]"),
      ::testing::MatchesRegex("a.yaml:3:[0-9]+: space.blocks.b1.[0-2].: the space takes too long .*"));
  EXPECT_EQ(
      language_error("parameters: {w: {choice: [1, 2], each: true}}\nnetwork:\n  - repeat: 600\n    body: "
                     "[{conv2d: {channels: $w, kernel: 1}}]\n" +
                     kEnd),
      "a.yaml:3:3: space.network: the space has 600 parameters, with one for each place of those with "
      "`each: true`; expected 500 at most");
  EXPECT_THAT(
      language_error("parameters: {w: {choice: [1, 2], each: true}}\nnetwork:\n  - repeat: 9999\n    body: [{"
                     "repeat: 9999, body: [{conv2d: {channels: $w, kernel: 1}}]}]\n" +
                     kEnd),
      HasSubstr("the space takes too long to read"));
}

/// The values of a parameter, which is written like `{range: [1, 3]}`.
std::vector<Value> range_values(const std::string& parameter) {
  return space_from_yaml(
             "parameters: {p: " + parameter +
             "}\nnetwork: [global_average_pool, dropout: {probability: \"if($p > 0, 0.5, 0.5)\"}, "
             "linear: {features: $classes}]\n")
      .parameters()[0]
      .values;
}

TEST(RangesOfParameters, KeepAllDigitsOfWholeNumbers) {
  EXPECT_EQ(
      range_values("{range: [1024, 65536], log: true, count: 7}"),
      (std::vector<Value>{std::int64_t{1024}, std::int64_t{2048}, std::int64_t{4096}, std::int64_t{8192},
                          std::int64_t{16384}, std::int64_t{32768}, std::int64_t{65536}}));
  EXPECT_EQ(range_values("{range: [123451, 123459], count: 3}"),
            (std::vector<Value>{std::int64_t{123451}, std::int64_t{123455}, std::int64_t{123459}}));
  EXPECT_EQ(range_values("{range: [16384, 65536], count: 4}"),
            (std::vector<Value>{std::int64_t{16384}, std::int64_t{32768}, std::int64_t{49152},
                                std::int64_t{65536}}));
}

TEST(RangesOfParameters, StayInOrderWithinTheirEnds) {
  for (const char* range : {"{range: [0.123451, 0.123459], count: 3}", "{range: [1000.5, 1001.5], count: 5}",
                            "{range: [0.99999, 1.00001], log: true, count: 9}",
                            "{range: [0.1234567890123, 0.1234567890129], step: 0.0000000000002}",
                            "{range: [-2.000049, -2.000041], count: 4}"}) {
    const std::vector<Value> values = range_values(range);
    EXPECT_GT(values.size(), 2U) << range;
    for (std::size_t i = 1; i < values.size(); ++i) {
      EXPECT_LT(as_number(values[i - 1]), as_number(values[i])) << range;
    }
  }
  const std::vector<Value> fractions = range_values("{range: [0.123451, 0.123459], count: 3}");
  EXPECT_EQ(fractions, (std::vector<Value>{0.123451, 0.123455, 0.123459}));
  EXPECT_EQ(range_values("{range: [1.0e-4, 1.0e-2], log: true, count: 5}"),
            (std::vector<Value>{1e-4, 0.0003162, 0.001, 0.003162, 0.01}))
      << "four digits where they are enough";
}

TEST(RangesOfParameters, SayWhereAStepMissesTheEnd) {
  const auto warnings_of = [](const std::string& range) {
    return space_from_yaml("parameters:\n  w: " + range +
                           "\nnetwork: [global_average_pool, linear: {features: $w}, linear: {features: "
                           "$classes}]\n")
        .warnings();
  };
  EXPECT_EQ(
      warnings_of("{range: [16, 100], step: 16}"),
      (std::vector<std::string>{"a.yaml:2:14: space.parameters.w.range: the values end at 96, because a "
                                "step of 16 does not reach 100"}));
  EXPECT_EQ(warnings_of("{range: [1, 10, 4]}").size(), 1U);
  EXPECT_TRUE(warnings_of("{range: [16, 96], step: 16}").empty());
  EXPECT_TRUE(warnings_of("{range: [1, 9]}").empty());
  EXPECT_EQ(
      warnings_of("{choice: [1, 2.0, true, 2]}"),
      (std::vector<std::string>{"a.yaml:2:24: space.parameters.w.choice[2]: 1 and true are one number and "
                                "two values, each of which is tried"}));
  EXPECT_EQ(warnings_of("{choice: [None, 5]}"),
            (std::vector<std::string>{"a.yaml:2:16: space.parameters.w.choice[0]: None is a word here: no "
                                      "value is `null`, and a word stands in quotes"}));
  EXPECT_TRUE(warnings_of("{choice: ['None', null, 5]}").empty());
}

TEST(WeightsOfParameters, MayBeAsLargeAsNumbersAre) {
  const SearchSpace space = space_from_yaml(
      "parameters: {w: {choice: [1, 2, 3], weights: [1e308, 1e308, 1e308]}}\n"
      "network: [global_average_pool, linear: {features: $w}, linear: {features: $classes}]\n");
  RandomStream random(1);
  std::vector<int> counts(3);
  for (int i = 0; i < 300; ++i) ++counts.at(space.sample(random).choices[0]);
  for (const int count : counts) EXPECT_GT(count, 60);
}

}  // namespace
}  // namespace skyline::space

// The language of spaces: networks that are graphs.
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;

const std::string kGraphEnd = "  - global_average_pool\n  - linear: {features: $classes}\n";
const std::string kGraphStem = "  - conv2d: {channels: 4, kernel: 3}\n";

/// One line for each layer before the end: "add <- 0 2".
std::vector<std::string> wiring(const Network& network) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i + 2 < network.layers.size(); ++i) {
    std::string line = network.layers[i].kind + " <-";
    for (const std::size_t input : network.layers[i].inputs) line += ' ' + std::to_string(input);
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> wiring_of(const std::string& items) {
  return wiring(network_from_yaml(kGraphStem + items + kGraphEnd));
}

std::string graph_error(const std::string& items) {
  return user_error_of([&] { network_from_yaml(kGraphStem + items + kGraphEnd); });
}

TEST(GraphLanguage, AResidualBodyAddsItsInput) {
  EXPECT_THAT(wiring_of("  - residual: [{conv2d: {channels: 4, kernel: 3}}, batch_norm]\n"),
              ElementsAre("conv2d <-", "conv2d <- 0", "batch_norm <- 1", "add <- 0 2"));
  EXPECT_THAT(wiring_of("  - residual: [{repeat: 0, body: [relu]}]\n"), ElementsAre("conv2d <-"));
}

TEST(GraphLanguage, TheShortcutIsProjectedWhereTheShapesDiffer) {
  const Network network = network_from_yaml(
      kGraphStem + "  - residual: [{conv2d: {channels: 8, kernel: 3, stride: 2}}, batch_norm]\n" + kGraphEnd);
  EXPECT_THAT(wiring(network), ElementsAre("conv2d <-", "conv2d <- 0", "batch_norm <- 1", "conv2d <- 0",
                                           "batch_norm <- 3", "add <- 2 4"));
  EXPECT_EQ(network.layers[3].output, (Shape{8, 14, 14}));
  EXPECT_EQ(attribute_integer(network.layers[3], "kernel"), 1);
  EXPECT_FALSE(attribute_flag(network.layers[3], "bias"));
}

TEST(GraphLanguage, TheProjectionMayBeGivenOrLeftOut) {
  const std::string body = "  - residual: {conv2d: {channels: 8, kernel: 3, stride: 2}}\n";
  EXPECT_THAT(
      wiring_of(body + "    projection: [{max_pool: {kernel: 2}}, {conv2d: {channels: 8, kernel: 1}}]\n"),
      ElementsAre("conv2d <-", "conv2d <- 0", "max_pool <- 0", "conv2d <- 2", "add <- 1 3"));
  EXPECT_THAT(wiring_of(body + "    projection: none\n"), ElementsAre("conv2d <-", "conv2d <- 0"));
}

TEST(GraphLanguage, BranchesReadTheSameInput) {
  EXPECT_THAT(wiring_of("  - branch: [relu, [batch_norm, relu], []]\n    merge: concat\n"),
              ElementsAre("conv2d <-", "relu <- 0", "batch_norm <- 0", "relu <- 2", "concat <- 1 3 0"));
  EXPECT_THAT(wiring_of("  - branch: [[], [global_average_pool, {linear: {features: 4}}]]\n"
                        "    merge: multiply\n"),
              ElementsAre("conv2d <-", "global_average_pool <- 0", "linear <- 1", "multiply <- 0 2"));
}

TEST(GraphLanguage, FromReadsTheOutputsOfNamedItems) {
  EXPECT_THAT(wiring_of("  - {relu: , name: a}\n  - batch_norm\n  - {relu: , from: a}\n"
                        "  - {concat: , from: [a, previous]}\n"),
              ElementsAre("conv2d <-", "relu <- 0", "relu <- 1", "concat <- 1 2"));
  EXPECT_THAT(wiring_of("  - body:\n      - batch_norm\n      - {add: , from: [input, previous]}\n"),
              ElementsAre("conv2d <-", "batch_norm <- 0", "add <- 0 1"));
}

TEST(GraphLanguage, MergesMayReadTheNetworksInput) {
  const DataShape data{{4, 6, 6}, 0};
  const auto text = [&](const std::string& list) { return network_from_yaml(list, data).canonical_text(); };
  const std::string conv = "{conv2d: {channels: 4, kernel: 3}}";
  for (const std::string& item :
       {"  - residual: [" + conv + "]\n", "  - branch: [[], " + conv + "]\n    merge: concat\n",
        "  - body:\n      - " + conv + "\n      - {multiply: , from: [input, previous, input]}\n",
        "  - cell: {middle: {input: relu}, end: {input: identity, middle: " + conv + "}}\n"}) {
    EXPECT_EQ(text(item), text("  - identity\n" + item));
    EXPECT_EQ(text("  - relu\n" + item), text("  - relu\n  - identity\n" + item));
  }
  EXPECT_EQ(
      text("  - tanh\n  - {concat: , from: [input, previous]}\n  - {add: , from: [previous, previous]}\n"),
      text("  - {identity: , name: skip}\n  - tanh\n  - {concat: , from: [skip, previous]}\n"
           "  - {add: , from: [previous, previous]}\n"));
}

TEST(GraphLanguage, ACellChoosesAnOperationForEachEdge) {
  const std::string text =
      "blocks:\n  conv: [relu, {conv2d: {channels: 4, kernel: 1}}]\nnetwork:\n" + kGraphStem + R"(
  - repeat: 2
    body:
      - cell: {a: [input], b: [input, a], out: {a: batch_norm, b: []}}
        operations: [conv, relu, batch_norm]
)" + kGraphEnd;
  const SearchSpace space = space_from_yaml(text);
  EXPECT_EQ(space.describe({{0, 1, 2}}), "cell_0.input-a=conv cell_0.input-b=relu cell_0.a-b=batch_norm");
  // One relu for both edges from the input, and one sum for the nodes b and out.
  EXPECT_THAT(wiring(space.build({{1, 1, 2}}).network()),
              ElementsAre("conv2d <-", "relu <- 0", "batch_norm <- 1", "batch_norm <- 1", "add <- 1 2 3",
                          "relu <- 4", "batch_norm <- 5", "batch_norm <- 5", "add <- 5 6 7"));
}

TEST(GraphLanguage, ACellMayJoinSeveralNodesAndChooseAnewInEveryPlace) {
  const SearchSpace space = space_from_yaml("network:\n" + kGraphStem + R"(
  - repeat: 2
    body:
      - cell: {a: [input], b: [a]}
        operations: [relu, batch_norm]
        output: [a, b]
        name: mixed
        each: true
)" + kGraphEnd);
  EXPECT_EQ(space.describe({{0, 1, 0, 1}}),
            "mixed.input-a.0=relu mixed.a-b.0=batch_norm mixed.input-a.1=relu mixed.a-b.1=batch_norm");
  EXPECT_THAT(wiring(space.build({{0, 1, 0, 0}}).network()),
              ElementsAre("conv2d <-", "relu <- 0", "batch_norm <- 1", "concat <- 1 2", "relu <- 3",
                          "relu <- 4", "concat <- 4 5"));
}

TEST(GraphLanguage, CellsOfNasBench201AreAsManyArchitecturesAsTheirCanonicalForms) {
  const SearchSpace space = space_from_yaml(R"(
blocks:
  none: zero
  skip: identity
  conv1: [relu, {conv2d: {channels: 4, kernel: 1, bias: false}}, batch_norm]
  conv3: [relu, {conv2d: {channels: 4, kernel: 3, bias: false}}, batch_norm]
  pool: [{average_pool: {kernel: 3, stride: 1, padding: 1}}]
network:
  - conv2d: {channels: 4, kernel: 3}
  - cell: {a: [input], b: [input, a], c: [input, a, b]}
    operations: [none, skip, conv1, conv3, pool]
  - global_average_pool
  - linear: {features: $classes})",
                                            {{2, 6, 6}, 10});
  ASSERT_EQ(space.genotype_count(), 15'625);
  std::set<ArchId> ids;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) ids.insert(space.build(space.genotype_at(i)).id);
  EXPECT_EQ(ids.size(), 5'485U);  // docs/spaces.md says why these are fewer than the benchmark's
}

TEST(GraphLanguage, NamesWhatIsWrong) {
  EXPECT_EQ(
      graph_error("  - {relu: , from: stme}\n"),
      "a.yaml:3:20: space.network[1].from: no item before this one has the name `stme`, known here: input, "
      "previous");
  EXPECT_EQ(graph_error("  - {relu: , name: a}\n  - {relu: , from: [a, input]}\n"),
            "a.yaml:4:20: space.network[2].from: only `add`, `concat` and `multiply` read several");
  EXPECT_EQ(graph_error("  - {repeat: 2, body: [relu], from: [input, previous]}\n"),
            "a.yaml:3:37: space.network[1].from: only `add`, `concat` and `multiply` read several");
  EXPECT_EQ(graph_error("  - branch: [relu]\n    merge: add\n"),
            "a.yaml:3:13: space.network[1].branch: expected a list of two branches or more, got a list of 1");
  EXPECT_EQ(graph_error("  - branch: [relu, batch_norm]\n"),
            "a.yaml:3:5: space.network[1]: missing key `merge`");
  EXPECT_EQ(
      graph_error("  - cell: {a: [inptu]}\n    operations: [relu]\n"),
      "a.yaml:3:16: space.network[1].cell.a[0]: no earlier node has the name `inptu`, did you mean `input`?");
  EXPECT_EQ(graph_error("  - cell: {a: [input], b: [input]}\n    operations: [relu]\n"),
            "a.yaml:3:15: space.network[1].cell.a: nothing reads this node");
  EXPECT_EQ(graph_error("  - cell: {a: [input]}\n"),
            "a.yaml:3:11: space.network[1].cell: edges without an operation need a list of `operations`");
  EXPECT_EQ(
      graph_error("  - residual: [{conv2d: {channels: 8, kernel: 3, padding: 2}}]\n"),
      "a.yaml:3:5: space.network[1]: no stride takes the input 4x28x28 to the body's output 8x30x30; write "
      "`projection:` as a list of layers");
}

}  // namespace
}  // namespace skyline::space

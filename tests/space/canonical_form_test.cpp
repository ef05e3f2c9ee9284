// Which networks are one: listing, dead branches, identities, zeros and sums.
#include "space/network/canonical_form.hpp"

#include "space/space_from_yaml.hpp"
#include "support/cpu_seconds.hpp"
#include "support/graph_builder.hpp"
#include "support/nas_bench_201.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::AttributeValues;
using skyline::testing::GraphBuilder;
namespace nas_bench_201 = skyline::testing::nas_bench_201;

const AttributeValues kKeepsShape{
    {"channels", std::int64_t{4}}, {"kernel", std::int64_t{3}}, {"padding", std::int64_t{1}}};

using Layers = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

/// A graph after a stem, in words: each layer as "kind reads...", by their places; 0 is the stem.
Network graph_of(const Layers& layers) {
  GraphBuilder builder({4, 6, 6});
  builder.add("conv2d", {}, kKeepsShape);
  for (const auto& [kind, inputs] : layers) {
    builder.add(kind, inputs, kind == "conv2d" ? kKeepsShape : AttributeValues{});
  }
  return builder.build();
}
std::string form_of(const Layers& layers) {
  return canonical_form(graph_of(layers)).canonical_text();
}

TEST(CanonicalForm, LeavesAChainAsItIs) {
  const Network network =
      network_from_yaml("[{conv2d: {channels: 4, kernel: 3}}, batch_norm, relu]", {{3, 8, 8}, 0});
  EXPECT_EQ(canonical_form(network).canonical_text(), network.canonical_text());
}

TEST(CanonicalForm, HasNoIdentities) {
  EXPECT_EQ(form_of({{"identity", {0}}, {"relu", {1}}, {"dropout", {2}}, {"identity", {3}}}),
            form_of({{"relu", {0}}, {"dropout", {1}}}));
  const DataShape data{{3, 8, 8}, 0};
  const auto text = [&](const char* list) { return network_from_yaml(list, data).canonical_text(); };
  EXPECT_EQ(text("[{dropout: {probability: 0}}, {stochastic_depth: {probability: 0}}, relu]"),
            text("[relu]"));
  EXPECT_EQ(text("[{max_pool: {kernel: 1}}, {adaptive_average_pool: {size: 8}}, relu]"), text("[relu]"));
  EXPECT_EQ(text("[global_average_pool, flatten, {linear: {features: 2}}]"),
            text("[global_average_pool, {linear: {features: 2}}]"));
  EXPECT_EQ(text("[identity]"), "input 3x8x8\nidentity <- input\n") << "a network has a layer";
}

TEST(CanonicalForm, NamesLayersAnew) {
  const Network network =
      network_from_yaml("[relu, identity, {conv2d: {channels: 2, kernel: 1}}, relu]", {{3, 8, 8}, 0});
  EXPECT_EQ(network.layers[0].name, "relu_0");
  EXPECT_EQ(network.layers[1].name, "conv2d_0");
  EXPECT_EQ(network.layers[2].name, "relu_1");
  EXPECT_EQ(network.layers[2].inputs, std::vector<std::size_t>{1});
}

TEST(CanonicalForm, HasNoDeadBranches) {
  EXPECT_EQ(form_of({{"conv2d", {0}}, {"batch_norm", {1}}, {"relu", {0}}}), form_of({{"relu", {0}}}));
}

TEST(CanonicalForm, DoesNotDependOnTheOrderOfListing) {
  EXPECT_EQ(form_of({{"conv2d", {0}}, {"batch_norm", {0}}, {"relu", {1}}, {"add", {3, 2}}}),
            form_of({{"batch_norm", {0}}, {"conv2d", {0}}, {"relu", {2}}, {"add", {1, 3}}}));
  EXPECT_NE(form_of({{"conv2d", {0}}, {"relu", {0}}, {"concat", {1, 2}}}),
            form_of({{"conv2d", {0}}, {"relu", {0}}, {"concat", {2, 1}}}))
      << "the order of what is joined counts";
}

TEST(CanonicalForm, PassesZerosOn) {
  EXPECT_EQ(form_of({{"zero", {0}}, {"relu", {1}}, {"tanh", {2}}, {"add", {0, 3}}, {"tanh", {4}}}),
            form_of({{"tanh", {0}}}));
  EXPECT_EQ(form_of({{"zero", {0}}, {"multiply", {0, 1}}, {"sigmoid", {2}}}),
            form_of({{"zero", {0}}, {"sigmoid", {1}}}));
  EXPECT_EQ(form_of({{"zero", {0}}, {"sigmoid", {1}}}),
            "input 4x6x6\nzero(channels=4,height=6,width=6) <- input\nsigmoid <- 0\n")
      << "what is before zeros is dead";
  EXPECT_NE(form_of({{"zero", {0}}, {"batch_norm", {1}}, {"add", {0, 2}}}), form_of({{"identity", {0}}}))
      << "a norm adds its bias";
}

TEST(CanonicalForm, MakesOneSumOfSums) {
  const std::pair<std::string, std::vector<std::size_t>> left{"conv2d", {0}};
  const std::pair<std::string, std::vector<std::size_t>> right{"batch_norm", {0}};
  const std::string flat = form_of({left, right, {"add", {0, 1, 2}}});
  EXPECT_EQ(form_of({left, right, {"add", {0, 1}}, {"add", {3, 2}}}), flat);
  EXPECT_EQ(form_of({left, right, {"add", {2, 1}}, {"add", {0, 3}}}), flat);
  EXPECT_NE(form_of({left, right, {"add", {0, 0, 1, 2}}}), flat) << "twice is not once";
  const std::string six = form_of({{"add", {0, 0, 0}}, {"add", {1, 1}}});
  EXPECT_EQ(form_of({{"add", {0, 0}}, {"add", {1, 1, 1}}}), six);
  EXPECT_TRUE(six.ends_with("\nadd <- 0 0 0\nadd <- 1 1\n")) << "not six terms: " << six;
}

TEST(CanonicalForm, LetsASumReadASumThatItContains) {
  // x, a = f(x), s = x + a, b = f(s), t = s + b: the residual networks, whose sums stay pairs.
  const std::string nested = form_of(
      {{"conv2d", {0}}, {"add", {0, 1}}, {"conv2d", {2}}, {"add", {2, 3}}, {"conv2d", {4}}, {"add", {4, 5}}});
  EXPECT_EQ(form_of({{"conv2d", {0}},
                     {"add", {0, 1}},
                     {"conv2d", {2}},
                     {"add", {0, 3, 1}},
                     {"conv2d", {4}},
                     {"add", {5, 1, 0, 3}}}),
            nested);
  EXPECT_EQ(std::ranges::count(nested, '\n'), 8);
  EXPECT_TRUE(nested.ends_with("add <- 4 5\n")) << nested;
}

TEST(CanonicalForm, BearsSumsThatDoubleAndDeepNetworks) {
  GraphBuilder doubling({4, 6, 6});
  std::size_t end = doubling.add("conv2d", {}, kKeepsShape);
  for (int i = 0; i < 1000; ++i) end = doubling.add("add", {end, end});
  EXPECT_EQ(canonical_form(doubling.build()).layers.size(), 1001U);
  GraphBuilder residual({4, 6, 6});
  end = residual.add("conv2d", {}, kKeepsShape);
  for (int i = 0; i < 1000; ++i) {
    end = residual.add("add", {end, residual.add("conv2d", {residual.add("relu", {end})}, kKeepsShape)});
  }
  const Network form = canonical_form(residual.build());
  EXPECT_EQ(form.layers.size(), 3001U);
  for (const Layer& layer : form.layers) EXPECT_LE(layer.inputs.size(), 2U);
}

TEST(CanonicalForm, TellsThousandsOfEqualBranchesApartWithinSeconds) {
  GraphBuilder builder({4, 6, 6});
  const std::size_t stem = builder.add("conv2d", {}, kKeepsShape);
  std::vector<std::size_t> ends;
  for (int i = 0; i < 4000; ++i)
    ends.push_back(builder.add("tanh", {builder.add("conv2d", {stem}, kKeepsShape)}));
  builder.add("concat", {builder.add("add", ends), stem});
  const double before = skyline::testing::thread_cpu_seconds();
  EXPECT_EQ(canonical_form(builder.build()).layers.size(), 8003U);
  EXPECT_LT(skyline::testing::thread_cpu_seconds() - before, 60) << "one by one, minutes";
}

TEST(CanonicalForm, ComputesNothingTwiceThatHasNoWeights) {
  EXPECT_EQ(form_of({{"relu", {0}}, {"relu", {0}}, {"conv2d", {1}}, {"conv2d", {2}}, {"concat", {3, 4}}}),
            form_of({{"relu", {0}}, {"conv2d", {1}}, {"conv2d", {1}}, {"concat", {2, 3}}}));
  EXPECT_NE(form_of({{"conv2d", {0}}, {"conv2d", {0}}, {"add", {1, 2}}}),
            form_of({{"conv2d", {0}}, {"add", {1, 1}}}));
  EXPECT_NE(form_of({{"dropout", {0}}, {"dropout", {0}}, {"add", {1, 2}}}),
            form_of({{"dropout", {0}}, {"add", {1, 1}}}));
}

TEST(CanonicalForm, HasAnIdentityWhereTheInputIsReadBesideOthers) {
  GraphBuilder builder({4, 6, 6});
  const std::size_t input = builder.add("identity", {});
  const std::size_t branch = builder.add("conv2d", {}, kKeepsShape);
  builder.add("add", {branch, input});
  const Network form = canonical_form(builder.build());
  EXPECT_EQ(form.layers.size(), 3U);
  EXPECT_EQ(canonical_form(form).canonical_text(), form.canonical_text());
}

TEST(CanonicalForm, CostsAreThoseOfWhatIsTrained) {
  GraphBuilder builder({4, 6, 6});
  const std::size_t stem = builder.add("conv2d", {}, kKeepsShape);
  const std::size_t left = builder.add("conv2d", {stem}, kKeepsShape);
  const std::size_t sum = builder.add("add", {stem, left});
  builder.add("add", {sum, builder.add("zero", {stem}), builder.add("batch_norm", {stem})});
  const Network form = canonical_form(builder.build());
  EXPECT_EQ(form.layers.back().kind, "add");
  EXPECT_EQ(form.layers.back().input_shapes.size(), 3U);
  EXPECT_EQ(form.layers.back().cost.flops, 2 * 4 * 36);
}

/// The same graph in another order, with the inputs of sums shuffled.
Network shuffled(const Network& network, RandomStream& random) {
  Network result{.input = network.input, .classes = network.classes, .layers = {}, .cost = {}};
  std::vector<std::size_t> place(network.layers.size(), network.layers.size());
  while (result.layers.size() < network.layers.size()) {
    const std::size_t pick = random.below(network.layers.size());
    const Layer& layer = network.layers[pick];
    const bool is_last = pick + 1 == network.layers.size();
    if (place[pick] < place.size() || (is_last && result.layers.size() + 1 < network.layers.size())) continue;
    if (std::ranges::any_of(layer.inputs, [&](std::size_t i) { return place[i] == place.size(); })) continue;
    Layer copy = layer;
    for (std::size_t& input : copy.inputs) input = place[input];
    if (copy.kind == "add") random.shuffle(std::span(copy.inputs));
    place[pick] = result.layers.size();
    result.layers.push_back(std::move(copy));
  }
  return result;
}

TEST(CanonicalForm, OfAShuffledNetworkIsTheSameAndOfItselfToo) {
  RandomStream random(3);
  for (int i = 0; i < 300; ++i) {
    const auto genotype = nas_bench_201::genotype_at(random.below(nas_bench_201::kGenotypes));
    const Network network = nas_bench_201::small_network(genotype);
    const Network form = canonical_form(network);
    EXPECT_EQ(canonical_form(shuffled(network, random)).canonical_text(), form.canonical_text());
    EXPECT_EQ(canonical_form(form).canonical_text(), form.canonical_text());
  }
}

/// Number of different texts over all genotypes of NAS-Bench-201.
template <typename Text>
std::size_t distinct_cells(const Text& text) {
  std::set<std::string> texts;
  for (std::size_t i = 0; i < nas_bench_201::kGenotypes; ++i)
    texts.insert(text(nas_bench_201::genotype_at(i)));
  return texts.size();
}

TEST(CanonicalForm, OfNasBench201sCellsAreFewerThanTheAuthorsCount) {
  const auto form = [](bool has_norm) {
    return [has_norm](const nas_bench_201::Genotype& genotype) {
      return canonical_form(nas_bench_201::small_network(genotype, has_norm)).canonical_text();
    };
  };
  EXPECT_EQ(distinct_cells(nas_bench_201::authors_text), 6466U);
  EXPECT_EQ(distinct_cells(form(false)), 5260U) << "without norms, convolutions of zeros are zeros";
  EXPECT_EQ(distinct_cells(form(true)), 5485U) << "a norm of zeros adds its bias, which is trained";
  const auto without_biases = [&](const nas_bench_201::Genotype& genotype) {
    const Network network = canonical_form(nas_bench_201::small_network(genotype));
    return without_biases_in_sums(network).value_or(network).canonical_text();
  };
  EXPECT_EQ(distinct_cells(without_biases), 5268U) << "a padded convolution of a bias stays";
}

/// The same graph's form, without biases in sums.
std::string variable_form_of(const Layers& layers) {
  const Network network = canonical_form(graph_of(layers));
  return without_biases_in_sums(network).value_or(network).canonical_text();
}

TEST(BiasesInSums, AreLeftOut) {
  const auto plain = variable_form_of({{"relu", {0}}});
  EXPECT_EQ(plain, form_of({{"relu", {0}}}));
  EXPECT_EQ(variable_form_of({{"zero", {0}}, {"batch_norm", {1}}, {"add", {0, 2}}, {"relu", {3}}}), plain);
  EXPECT_EQ(variable_form_of(
                {{"zero", {0}}, {"batch_norm", {1}}, {"relu", {2}}, {"add", {2, 3, 0}}, {"relu", {4}}}),
            plain)
      << "what is computed from biases alone, at one place, is a bias";
  const Layers padded{{"zero", {0}}, {"batch_norm", {1}}, {"conv2d", {2}}, {"add", {0, 3}}, {"relu", {4}}};
  EXPECT_EQ(variable_form_of(padded), form_of(padded)) << "at the edges it has another value";
  const Layers drawn{{"zero", {0}}, {"batch_norm", {1}}, {"dropout", {2}}, {"add", {0, 3}}, {"relu", {4}}};
  EXPECT_EQ(variable_form_of(drawn), form_of(drawn)) << "each sample has another value";
  const auto product = variable_form_of({{"zero", {0}}, {"batch_norm", {1}}, {"multiply", {0, 2}}});
  EXPECT_EQ(product, form_of({{"zero", {0}}, {"batch_norm", {1}}, {"multiply", {0, 2}}}))
      << "a factor is no term";
}

TEST(BiasesInSums, LeaveNothingOfANetworkThatDoesNotReadItsInput) {
  const auto nothing = variable_form_of({{"zero", {0}}, {"batch_norm", {1}}});
  EXPECT_EQ(nothing, "input 4x6x6\n");
  EXPECT_EQ(variable_form_of({{"zero", {0}}, {"conv2d", {1}}, {"batch_norm", {2}}, {"relu", {3}}}), nothing);
}

}  // namespace
}  // namespace skyline::space

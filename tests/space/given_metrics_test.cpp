#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include "core/config/config_text.hpp"
#include "space/conditions/number.hpp"
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::config_from_yaml;
using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kParametersAlone =
    "parameters: {layers: {choice: [1, 2, 3]}, width: {choice: [0, 7, 10]}}";
constexpr const char* kNetwork = R"yaml(
parameters: {deep: {choice: [false, true]}, width: {choice: [4, 8]}, inner: {choice: [2, 16]}}
network:
  - flatten
  - repeat: "if($deep, 1, 0)"
    body: [{linear: {features: $inner}}]
  - linear: {features: $width}
  - linear: {features: $classes}
)yaml";

GivenExpression given(const std::string& expression, const std::string& name = "size") {
  ConfigNode source = config_from_yaml(expression, "a.yaml", "command.metrics." + name + ".is");
  return {name, source};
}

SearchSpace space_of(const std::string& space, const std::vector<GivenExpression>& metrics,
                     const DataShape& data = {}) {
  return SearchSpace::parse(config_from_yaml(space, "a.yaml", "space"), data, {}, metrics);
}

/// Returns the value of an expression for the first genotype of a space with one.
double value_of(const std::string& expression) {
  const SearchSpace space =
      space_of("parameters: {a: {choice: [0.1]}, b: {choice: [0.2]}, c: {choice: [3]}}", {given(expression)});
  return space.build(Genotype{{0, 0, 0}}).given("size").value();
}

std::string problem_of(const std::string& expression, const std::string& space = kParametersAlone,
                       const DataShape& data = {}) {
  return user_error_of([&] { space_of(space, {given(expression)}, data); });
}

TEST(GivenMetrics, AreCalculatedExactlyAndRoundedOnce) {
  EXPECT_EQ(value_of("$a + $b"), 0.3) << "and not 0.30000000000000004";
  EXPECT_EQ(value_of("$a / $c"), 1.0 / 30);
  EXPECT_EQ(value_of("7 / $c * $c"), 7);
  EXPECT_EQ(value_of("-1 / $c"), -1.0 / 3);
  EXPECT_EQ(value_of("$c // 2 + $c % 2"), 2);
  EXPECT_EQ(value_of("2 ** 63 + $c - $c + 1025"), 9223372036854777856.0) << "2^63 has steps of 2048";
  EXPECT_EQ(value_of("2 ** 63 + $c - $c + 1024"), 9223372036854775808.0) << "the even one";
  EXPECT_EQ(value_of("if($a < $b, $c, 1 / 0.5)"), 3);
  EXPECT_EQ(value_of("12"), 12) << "a constant is an expression, too";
}

TEST(NearestDouble, IsThatOfTheQuotient) {
  RandomStream random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = [&] {
      return static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(53))));
    };
    const std::int64_t numerator = bits() - bits();
    const std::int64_t denominator = 1 + bits() / 2;
    // Both are exact as doubles, and a division of doubles rounds once.
    EXPECT_EQ(nearest_double(Fraction{numerator, denominator}),
              static_cast<double>(numerator) / static_cast<double>(denominator));
  }
  const Whole large = (Whole{1} << 126) - 1;
  EXPECT_EQ(nearest_double(Fraction{large, 1}), 0x1p126);
  EXPECT_EQ(nearest_double(Fraction{1, large}), 0x1p-126);
  EXPECT_EQ(nearest_double(Fraction{-large, large - 2}), -1);
}

TEST(GivenMetrics, AreKnownOfEveryArchitectureInOrder) {
  const SearchSpace space =
      space_of(kParametersAlone, {given("$layers * $width ** 2", "size"), given("-$layers", "depth")});
  EXPECT_THAT(space.given(), ElementsAre("size", "depth"));
  const Architecture architecture = space.build(Genotype{{2, 1}});
  EXPECT_EQ(architecture.given("size"), 147);
  EXPECT_EQ(architecture.given("depth"), -3);
  EXPECT_EQ(architecture.given("other"), std::nullopt);
  EXPECT_EQ(architecture.unbuilt().given("size"), 147);
  EXPECT_EQ(Architecture().given("size"), std::nullopt);
  EXPECT_TRUE(space_from_yaml(kParametersAlone).given().empty());
}

TEST(GivenMetrics, MayUseTheCostsOfANetwork) {
  const SearchSpace space = space_of(kNetwork, {given("$parameters * $width + $flops / 2")}, kMnist);
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
    const Architecture built = space.build(space.genotype_at(i));
    const double width = built.genotype.choices[1] == 0 ? 4 : 8;
    const double expected =
        static_cast<double>(built.cost.parameters) * width + static_cast<double>(built.cost.flops) / 2;
    EXPECT_EQ(built.given("size"), expected);
    EXPECT_EQ(built.unbuilt().given("size"), expected);
    EXPECT_EQ(built.id, space_from_yaml(kNetwork).build(built.genotype).id) << "it changes no id";
  }
}

TEST(GivenMetrics, TellArchitecturesApartThatBuildOneNetwork) {
  const SearchSpace plain = space_from_yaml(kNetwork);
  const SearchSpace space = space_of(kNetwork, {given("$inner")}, kMnist);
  const Genotype first{{0, 0, 0}};
  const Genotype other{{0, 0, 1}};  // `inner` has no meaning, since the network is not deep
  EXPECT_EQ(plain.build(first).id, plain.build(other).id);
  EXPECT_NE(space.build(first).id, space.build(other).id);
  EXPECT_THAT(space.build(first).used, ElementsAre(true, true, true));
  EXPECT_THAT(space.try_build(first).reads, ElementsAre(true, true, true));
  EXPECT_NE(space.build(first).function_id(), space.build(other).function_id());
  const SearchSpace careful = space_of(kNetwork, {given("if($deep, $inner, 0)")}, kMnist);
  EXPECT_EQ(careful.build(first).id, plain.build(other).id);
  EXPECT_EQ(careful.build(first).id, careful.build(other).id);
}

TEST(GivenMetrics, AreUsersOfParametersThatTheNetworkDoesNotUse) {
  const std::string network =
      "{parameters: {w: {choice: [4, 8]}, bits: {choice: [4, 8, 16]}}, network: [flatten, "
      "linear: {features: $w}, linear: {features: $classes}]}";
  const SearchSpace space = space_of(network, {given("$parameters * $bits")}, kMnist);
  std::set<ArchId> ids;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) ids.insert(space.build(space.genotype_at(i)).id);
  EXPECT_EQ(ids.size(), 6U);
  EXPECT_THAT(problem_of("$parameters * $w", network, kMnist),
              HasSubstr("space.parameters.bits: nothing uses this parameter"));
  EXPECT_THAT(problem_of("$bit", network, kMnist),
              EndsWith("unknown parameter `$bit`, did you mean `$bits`?"))
      << "what was refused may be the user";
}

TEST(GivenMetrics, MakeGenotypesInvalidForWhichTheyHaveNoValue) {
  const SearchSpace space = space_of(kParametersAlone, {given("$layers / $width")});
  EXPECT_EQ(space.build(Genotype{{0, 2}}).given("size"), 0.1);
  const BuildAttempt attempt = space.try_build(Genotype{{2, 0}});
  EXPECT_FALSE(attempt.architecture.has_value());
  EXPECT_EQ(
      attempt.problem,
      "a.yaml:1:1: command.metrics.size.is: `$layers / $width` has no value: 3 / 0, for layers=3 width=0");
  EXPECT_THAT(attempt.reads, ElementsAre(true, true));
  const SearchSpace roots = space_of(kParametersAlone, {given("($width - 1) ** 0.5")});
  EXPECT_THAT(roots.try_build(Genotype{{0, 0}}).problem, HasSubstr("has no value: -1 ** 0.5, for width=0"));
  const SearchSpace huge = space_of(kParametersAlone, {given("(10 ** 300) ** $layers")});
  EXPECT_TRUE(huge.try_build(Genotype{{0, 0}}).architecture.has_value());
  EXPECT_THAT(huge.try_build(Genotype{{1, 0}}).problem, HasSubstr("has no value: it is too large"));
}

TEST(GivenMetrics, SayOnWhichParametersItDependsThatTheyHaveNoValue) {
  const SearchSpace space = space_of(kNetwork, {given("1 / ($inner - 2)")}, kMnist);
  const BuildAttempt attempt = space.try_build(Genotype{{0, 0, 0}});
  EXPECT_THAT(attempt.problem, HasSubstr("has no value: 1 / 0, for inner=2"));
  EXPECT_THAT(attempt.reads, ElementsAre(true, true, true));
  EXPECT_TRUE(space.try_build(Genotype{{0, 0, 1}}).architecture.has_value());
}

TEST(GivenMetrics, MakeGenotypesInvalidWhoseValueIsOutsideOfTheRange) {
  GivenExpression metric = given("$layers * $width");
  metric.low = 5;
  metric.high = 20;
  const SearchSpace space = space_of(kParametersAlone, {metric});
  EXPECT_EQ(space.build(Genotype{{1, 2}}).given("size"), 20);
  EXPECT_THAT(space.try_build(Genotype{{2, 2}}).problem,
              EndsWith("has no value: 30 is outside of its range, [5, 20], for layers=3 width=10"));
}

TEST(GivenMetrics, RefuseWhatTheyCannotBe) {
  const std::string place = "a.yaml:1:1: command.metrics.size.is: ";
  EXPECT_EQ(problem_of("$layer * 2"),
            place + "in `$layer * 2`: unknown parameter `$layer`, did you mean `$layers`?");
  EXPECT_THAT(problem_of("$flops * 2"), HasSubstr("unknown parameter `$flops`")) << "there is no network";
  EXPECT_THAT(problem_of("$flop * 2", kNetwork, kMnist), HasSubstr("did you mean `$flops`?"));
  EXPECT_THAT(problem_of("$layers > 2"),
              HasSubstr(place + "expected a number, for example $layers * $width"));
  EXPECT_THAT(problem_of("many"), HasSubstr(place + "expected a number, for example $layers * $width"));
  EXPECT_THAT(problem_of("$layers / 0"), HasSubstr("division by zero"));
  EXPECT_THAT(problem_of("$word * 2", "parameters: {word: {choice: [a, b]}}"),
              HasSubstr("cannot calculate with `$word`, which may be a"));
  EXPECT_THAT(problem_of("$classes * $layers"), HasSubstr("`$classes` needs data"));
  const std::string both =
      "{parameters: {flops: {choice: [4, 8]}}, network: [flatten, linear: {features: $flops}]}";
  EXPECT_THAT(problem_of("$flops", both, kMnist),
              HasSubstr("`$flops` is a parameter of the space and a cost of its networks"));
}

}  // namespace
}  // namespace skyline::space

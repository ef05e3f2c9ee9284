// What conditions mean: exact numbers, words, and what cannot be calculated.
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SearchSpace space_of(const std::string& parameters, const std::string& where) {
  return space_from_yaml("parameters: {" + parameters + "}\nwhere: " + where + "\n", {});
}

const std::string kEight = "n: {range: [1, 8]}, m: {range: [1, 8]}";
const std::string kNets =
    R"(net: {choice: [resnet-50, vgg16, "1x1", a/b, "x y", "3", "it's", "true"]}, n: {range: [1, 2]})";

/// Returns how many genotypes keep a condition.
long double kept(const std::string& parameters, const std::string& where) {
  return space_of(parameters, where).count_kept().value();
}

std::string error_of(const std::string& parameters, const std::string& where) {
  return user_error_of([&] { space_of(parameters, where); });
}

TEST(Conditions, DivideAsOneDoesOnPaper) {
  EXPECT_EQ(kept(kEight, "$n / $m >= 1"), 36);
  EXPECT_EQ(kept(kEight, "$n / $m <= 2"), 52);
  EXPECT_EQ(kept(kEight, "not $n / $m > 2"), 52);
  EXPECT_EQ(kept(kEight, "$n / $m > 2"), 12);
  EXPECT_EQ(kept(kEight, "$m == 3 or $n / ($m - 3) > 1"), 33);
  EXPECT_EQ(kept(kEight, "$n ** -1 > 0.3"), 24);
  EXPECT_EQ(kept(kEight, "$n // $m == 2 and $n % $m == 1"), 2) << "5 // 2 and 7 // 3";
}

TEST(Conditions, TellLargeWholeNumbersApart) {
  const std::string two =
      "n: {choice: [9007199254740992, 9007199254740993]}, m: {choice: [9007199254740992, 9007199254740993]}";
  EXPECT_EQ(kept(two, "$n * 2000 > 0"), 4);
  EXPECT_EQ(kept(two, "$n == $m"), 2);
  EXPECT_EQ(kept(two, "$n * $n * $n < $m * $m * $m"), 1);
  EXPECT_EQ(kept(two, "$n ** 40 / $m ** 40 == 1"), 2);
}

TEST(Conditions, CompareTheDecimalsThatWereWritten) {
  const std::string rates = "p: {choice: [0.1, 0.3]}, q: {choice: [0.2, 0.6]}";
  EXPECT_EQ(kept(rates, "$p + $q <= 0.3"), 1);
  EXPECT_EQ(kept(rates, "not ($p + $q > 0.3)"), 1);
  EXPECT_EQ(kept(rates, "$p * 3 == $q - 0.3 or $p * 2 == $q"), 3);
  EXPECT_EQ(kept("p: {choice: [1.0e-300, 2.0e-300]}", "$p * $p * 1e300 == 1e-300"), 1);
  EXPECT_EQ(kept("p: {choice: [0.3, 0.7]}", "$p // 0.1 == 3 and $p % 0.1 == 0"), 1);
  EXPECT_EQ(kept("p: {choice: [9, 10, 16]}", "$p ** 0.5 in [3, 4]"), 2);
}

TEST(Conditions, ReadChainsListsAndAbs) {
  EXPECT_EQ(kept(kEight, "1 < $n <= $m < 5"), 6);
  EXPECT_EQ(kept(kEight, "$n in [1, 3, $m]"), 22);
  EXPECT_EQ(kept(kEight, "$n not in [1, 2] and $m == 1"), 6);
  EXPECT_EQ(kept(kEight, "abs($n - $m) <= 1"), 22);
}

TEST(Conditions, StandOnSeveralLines) {
  for (const std::string style : {"|", ">"}) {
    const SearchSpace space = space_of(kEight, style + "\n  $n < $m\n  and $m in [3,\n   4]\n");
    EXPECT_EQ(space.count_kept(), 5);
    EXPECT_THAT(space.try_build({{7, 0}}).problem,
                HasSubstr("`$n < $m and $m in [3,  4]` does not hold, for n=8 m=1"));
  }
  EXPECT_THAT(error_of(kEight, "|\n  $n <\n  $k\n"), HasSubstr("in `$n < $k`: unknown parameter `$k`"));
}

TEST(Conditions, HaveASpellingForAnyWord) {
  for (const std::string word : {"'resnet-50'", "\"resnet-50\"", "vgg16", "'vgg16'", "'1x1'", "'a/b'",
                                 "'x y'", "'3'", "'it''s'", "\"it's\"", "'true'"}) {
    EXPECT_EQ(kept(kNets, "$net == " + word), 2) << word;
    EXPECT_EQ(kept(kNets, "$n == 1 and $net not in [" + word + ", '3', '1x1', \"1x1\"] or $net == " + word),
              2 + (word == "'3'" || word == "'1x1'" ? 6 : 5))
        << word;
  }
}

TEST(Conditions, SayHowAWordIsSpelt) {
  EXPECT_THAT(error_of(kNets, "$net == resnet-50"),
              HasSubstr("cannot calculate with resnet, did you mean `'resnet-50'`?"));
  EXPECT_THAT(error_of(kNets, "$net == 1x1"), HasSubstr("`1x1` is not a number, did you mean `'1x1'`?"));
  EXPECT_THAT(error_of(kNets, "$net == 3"), HasSubstr("`$net` is never 3, did you mean `'3'`?"));
  EXPECT_THAT(error_of(kNets, "$n == '1'"), HasSubstr("`$n` is never '1', did you mean `1`?"));
  EXPECT_THAT(error_of(kNets, "$net == vgg61"), HasSubstr("did you mean `vgg16`?"));
  EXPECT_THAT(error_of(kNets, "$net in [vgg16, 'x']"), HasSubstr("`$net` is never x, known here"));
  EXPECT_THAT(error_of(kNets, "$net == 'vgg16"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(error_of(kNets, "$net in []"), HasSubstr("expected a number, a `$name` or `(`, got `]`"));
  EXPECT_THAT(error_of(kNets, "$net in vgg16"), HasSubstr("expected `[`, got `vgg16`"));
  EXPECT_THAT(error_of(kNets, "abs($n, 2) > 1"), HasSubstr("abs takes one value"));
}

TEST(Conditions, KnowNull) {
  const std::string depth =
      "depth: {choice: [null, 5, 10]}, other: {choice: [null, \"x\"]}, n: {range: [5, 6]}";
  EXPECT_EQ(kept(depth, "$depth == null"), 4);
  EXPECT_EQ(kept(depth, "$depth != null and $depth > 5"), 4);
  EXPECT_EQ(kept(depth, "$depth == null or $depth > 5"), 8);
  EXPECT_EQ(kept(depth, "$depth == $other"), 2);
  EXPECT_EQ(kept(depth, "$depth in [null, $n]"), 6);
  const SearchSpace space = space_of(depth, "$depth + 1 > 6");
  EXPECT_THAT(
      space.failing_conditions(),
      ElementsAre(HasSubstr("cannot be calculated for 4 genotypes, which are left out, e.g. null + 1")));
  EXPECT_THAT(error_of(depth, "$n == null"), HasSubstr("`$n` is never null"));
  EXPECT_THAT(error_of("w: {choice: [\"null\", a]}", "$w == null"), HasSubstr("did you mean `'null'`?"));
}

TEST(Conditions, AreRefusedIfTheyCanNeverBeCalculated) {
  EXPECT_EQ(error_of(kEight, "$n / 0 > 1"), "a.yaml:2:8: space.where: in `$n / 0 > 1`: division by zero");
  EXPECT_THAT(error_of(kEight, "$m < 3 or $n % (2 - 2) > 1"), HasSubstr("division by zero"));
  EXPECT_THAT(
      error_of(kEight, "$n / ($m - $m) > 1"),
      HasSubstr("no combination of parameters keeps all conditions; a.yaml:2:8: space.where: `$n / ($m - $m) "
                "> 1` cannot be calculated for 64 genotypes, which are left out, e.g. "));
  EXPECT_THAT(error_of(kEight, "$n > 0 ** -1"), HasSubstr("cannot calculate 0 ** (-1)"));
  EXPECT_THAT(error_of(kEight, "$n > (-2) ** 0.5"), HasSubstr("cannot calculate -2 ** 0.5"));
  EXPECT_THAT(error_of(kEight, "$n > 10 ** 10 ** 10"), HasSubstr("cannot calculate 10 ** 10000000000"));
  EXPECT_THAT(error_of(kEight, "($n > 1) + 1 > 2"), HasSubstr("cannot calculate with what is no number"));
  EXPECT_THAT(error_of(kEight, "not $n or $m > 2"), HasSubstr("take conditions, for example $w2 >= $w1"));
  EXPECT_THAT(error_of(kNets, "if($n == 1, $net, vgg16) < 3"),
              HasSubstr("cannot calculate with what is no number"));
}

TEST(Conditions, AreCountedWhereTheyCannotBeCalculated) {
  const std::string with_zero = "n: {range: [1, 8]}, m: {range: [0, 7]}, k: {range: [1, 3]}";
  const SearchSpace space = space_of(with_zero, "$n / $m >= 1");
  EXPECT_EQ(space.count_kept(), 3 * 35);
  EXPECT_THAT(
      space.failing_conditions(),
      ElementsAre(HasSubstr("a.yaml:2:8: space.where: `$n / $m >= 1` cannot be calculated for 24 genotypes, "
                            "which are left out, e.g. ")));
  EXPECT_EQ(space.try_build({{2, 0, 0}}).problem,
            "a.yaml:2:8: space.where: `$n / $m >= 1` cannot be calculated: 3 / 0, for n=3 m=0");
  EXPECT_EQ(kept(with_zero, "not ($n / $m >= 1)"), 3 * (56 - 35)) << "neither does its negation hold";
  EXPECT_EQ(kept("n: {choice: [1, 100000]}", "10 ** $n > 0"), 1);
  EXPECT_THAT(space_of("n: {choice: [1, 100000]}", "10 ** $n > 0").failing_conditions(),
              ElementsAre(HasSubstr("for 1 genotype, which are left out, e.g. 10 ** 100000, for n=100000")));
  EXPECT_THAT(space_of("n: {choice: [1, word]}", "if($n == word, $n, 3) > 2").failing_conditions(),
              ElementsAre(HasSubstr("e.g. word > 2, for n=word")));
}

TEST(Conditions, NameNumbersThatAreTooLargeOrTooSmall) {
  const std::string rates = "n: {choice: [0.1, 0.2]}";
  EXPECT_THAT(
      error_of(rates, "$n * 10 ** 4000 * 10 ** 4000 > 3"),
      HasSubstr("cannot be calculated for 2 genotypes, which are left out, e.g. about 10^3999 * about "
                "10^4000, for n="));
  EXPECT_THAT(error_of(rates, "not ($n * -2 ** -12000 * 2 ** -12000 > 3)"),
              HasSubstr("e.g. about -10^-3613 * about 10^-3612, for n="));
  std::string quotient = "$n";
  for (int i = 0; i < 17; ++i) quotient += " / 1e-300";
  EXPECT_THAT(error_of(rates, quotient + " > 3"), HasSubstr("e.g. about 10^4799 / "));
  EXPECT_EQ(kept(rates, "$n * 10 ** 4000 / 10 ** 4000 == 0.1"), 1);
}

TEST(Conditions, TakeInfinities) {
  const std::string infinite = "n: {choice: [-.inf, 3, .inf]}";
  EXPECT_EQ(kept(infinite, "-.inf < $n < .inf"), 1);
  EXPECT_EQ(kept(infinite, "abs($n) == .inf and -$n < 0"), 1);
  EXPECT_THAT(error_of(kEight, "$n * -.inf > 3"), HasSubstr(" * (-inf), for n="));
}

TEST(Conditions, LoseNothingWhereAnotherOneDecides) {
  const std::string with_zero = "n: {range: [1, 8]}, m: {range: [0, 7]}";
  for (const std::string where : {"$m == 0 or $n / $m >= 1", "$m > 0 and $n / $m >= 1",
                                  "if($m == 0, true, $n / $m >= 1)", "[$n / $m >= 1, $m > 0]"}) {
    EXPECT_THAT(space_of(with_zero, where).failing_conditions(), IsEmpty()) << where;
  }
}

TEST(Conditions, ThatCannotBeCountedAreLookedAtInDraws) {
  std::string parameters;
  for (const char name : std::string("abcdefgh")) parameters += std::string(1, name) + ": {range: [0, 39]}, ";
  const SearchSpace space = space_of(parameters, "1 / ($a - $b) + $c + $d + $e + $f + $g + $h <= 200");
  EXPECT_FALSE(space.count_kept());
  EXPECT_THAT(space.failing_conditions(), ElementsAre(HasSubstr("cannot be calculated for some genotypes")));
  EXPECT_EQ(space.difference_of_rules().find("` holds only now"),
            std::string("`1 / ($a - $b) + $c + $d + $e + $f + $g + $h <= 200").size());
}

TEST(Conditions, AreComparedWithTheRulesOfBefore) {
  EXPECT_EQ(space_of(kEight, "[$n + $m * 2 <= 9, $n > $m]").difference_of_rules(), "");
  EXPECT_EQ(space_of(kEight, "[$n / $m <= 2, $n % $m == 0]").difference_of_rules(), "")
      << "exact quotients alone";
  EXPECT_THAT(space_of(kEight, "$n / $m <= 2").difference_of_rules(),
              HasSubstr("`$n / $m <= 2` holds only now, for n="));
  EXPECT_EQ(space_of("p: {choice: [0.1, 1]}, q: {choice: [0.2, 1]}", "$p + $q > 0.3").difference_of_rules(),
            "`$p + $q > 0.3` held only before, for p=0.1 q=0.2");
}

TEST(Conditions, OfARunOfBeforeAreReadByItsRules) {
  const ConfigNode section = skyline::testing::config_from_yaml(
      "parameters: {" + kEight + "}\nwhere: $n / $m <= 2\n", "a.yaml", "space");
  const SearchSpace old = SearchSpace::read(section, {}, {}, ConditionRules::kBinary);
  EXPECT_EQ(old.count_kept(), 12);
  EXPECT_THAT(old.try_build({{2, 1}}).problem, HasSubstr("does not hold, for n=3 m=2"));
  EXPECT_EQ(SearchSpace::read(section, {}).count_kept(), 52);
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), count);
  }
  ::pclose(pipe);
  return text;
}

TEST(Conditions, KeepWhatExactCalculationInPythonKeeps) {
  const std::string text =
      output_of(SKYLINE_PYTHON " " SKYLINE_SOURCE_DIR "/tests/space/where_oracle.py 500 1");
  std::size_t cases = 0;
  for (std::size_t at = 0; at < text.size(); ++cases) {
    const std::size_t tab = text.find('\t', at);
    const std::size_t end = text.find('\n', at);
    ASSERT_LT(tab, end);
    const std::string bits = text.substr(at, tab - at);
    const std::string yaml = text.substr(tab + 1, end - tab - 1);
    at = end + 1;
    SCOPED_TRACE(yaml);
    const SearchSpace space = space_from_yaml(yaml, {});
    std::string found;
    for (std::int64_t number = 0; number < space.genotype_count(); ++number) {
      const BuildAttempt attempt = space.try_build(space.genotype_at(number));
      const bool fails = attempt.problem.find("` cannot be calculated") != std::string::npos;
      found += attempt.architecture ? '1' : fails ? '-' : '0';
    }
    ASSERT_EQ(found, bits);
    EXPECT_EQ(space.count_kept(), static_cast<long double>(std::ranges::count(bits, '1')));
    EXPECT_TRUE(bits.find('-') != std::string::npos || space.failing_conditions().empty());
  }
  EXPECT_EQ(cases, 500U);
}

}  // namespace
}  // namespace skyline::space

#include "space/expressions/expression.hpp"

#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;

const std::vector<Parameter> kParameters{
    {"width", {std::int64_t{16}, std::int64_t{32}}, {1, 1}},
    {"ratio", {0.5}, {1}},
    {"padding", {std::string("same"), std::int64_t{0}}, {1, 1}},
};

/// The parameters above, and an argument that may be anything.
class SampleNames final : public Names {
 public:
  std::optional<Meaning> find(const std::string& name) override {
    if (name == "given") return Meaning{parameter_part(2), true};
    for (std::size_t i = 0; i < kParameters.size(); ++i) {
      if (kParameters[i].name == name) return Meaning{parameter_part(i)};
    }
    return std::nullopt;
  }
  std::vector<std::string> known() const override {
    std::vector<std::string> names;
    for (const Parameter& parameter : kParameters) names.push_back(parameter.name);
    return names;
  }
  const std::vector<Parameter>& parameters() const override { return kParameters; }
};

Value value_of(const ConfigNode& node, std::vector<bool>* used = nullptr) {
  SampleNames names;
  const Expression expression = Expression::parse(node, names);
  const Genotype genotype{{0, 0, 0}};
  std::vector<bool> read(kParameters.size());
  const Value value = expression.evaluate({kParameters, genotype, 10, read});
  if (used != nullptr) *used = read;
  return value;
}

Value value_of(const std::string& text, std::vector<bool>* used = nullptr, bool quoted = false) {
  return value_of(ConfigNode::make_scalar(text, {"a.yaml", 7, 1}, quoted), used);
}

std::int64_t integer_of(const std::string& text) {
  return std::get<std::int64_t>(value_of(text));
}

/// Expects that an expression is refused, with this problem. @param shown  of the text; empty: all
void refuses(const std::string& text, const std::string& problem, const std::string& shown = "") {
  EXPECT_EQ(user_error_of([&] { value_of(text); }),
            "a.yaml:7:1: in `" + (shown.empty() ? text : shown) + "`: " + problem);
}

TEST(Expression, WordsNumbersAndFlagsAreThemselves) {
  EXPECT_EQ(value_of("same"), Value(std::string("same")));
  EXPECT_EQ(value_of("-3"), Value(std::int64_t{-3}));
  EXPECT_EQ(value_of("1e-5"), Value(1e-5));
  EXPECT_EQ(value_of("true"), Value(true));
  EXPECT_EQ(value_of("3 + 4", nullptr, true), Value(std::string("3 + 4")));
}

TEST(Expression, AListIsAHeightAndAWidth) {
  using skyline::testing::config_from_yaml;
  EXPECT_EQ(value_of(config_from_yaml("[3, 1]")), Value(Sides{3, 1}));
  EXPECT_EQ(value_of(config_from_yaml("[$width // 2, 1]")), Value(Sides{8, 1}));
  EXPECT_EQ(value_of("if($width == 16, [3, 1], 3)"), Value(Sides{3, 1}));
  const auto error_of = [](const std::string& yaml) {
    return user_error_of([&] { value_of(config_from_yaml(yaml)); });
  };
  EXPECT_EQ(error_of("[3, 1, 1]"),
            "test.yaml:1:1: expected a single value or [height, width], got a list of 3");
  EXPECT_EQ(error_of("[3, 1.5]"), "test.yaml:1:5: [1]: expected a whole number, got 1.5");
  EXPECT_EQ(error_of("[[3, 1], 1]"), "test.yaml:1:2: [0]: expected a whole number, got a list of 2");
  EXPECT_EQ(error_of("[$ratio, 1]"), "test.yaml:1:1: in `[$ratio, 1]`: expected whole numbers, got 0.5");
  refuses("$padding == [3, 1.5]", "expected whole numbers [height, width], got `1.5`");
  refuses("$padding == [3]", "expected `,`, got `]`");
  refuses("$padding == [3, 1]", "`$padding` is never [3, 1], known here: same, 0");
  refuses("2 * [3, 1]", "cannot calculate with [3, 1]");
}

TEST(Expression, CalculatesWithTheUsualPrecedence) {
  EXPECT_EQ(integer_of("$width * 2"), 32);
  EXPECT_EQ(integer_of("$width + 2 * 3"), 22);
  EXPECT_EQ(integer_of("($width + 2) * 3"), 54);
  EXPECT_EQ(integer_of("$width - 2 - 3"), 11);
  EXPECT_EQ(integer_of("$width / 4 / 2"), 2);
  EXPECT_EQ(integer_of("$width % 5 * 2"), 2);
  EXPECT_EQ(integer_of("-$width % 5"), 4);  // remainder of the whole-number division `//`
  EXPECT_EQ(integer_of("$width % -5"), -4);
  EXPECT_EQ(integer_of("-$width % -5"), -1);
  EXPECT_EQ(integer_of("-$width % 4"), 0);
  EXPECT_EQ(integer_of("-$width + 1"), -15);
  EXPECT_EQ(integer_of("2 - -3"), 5);
  EXPECT_EQ(integer_of("min($width, $classes)"), 10);
  EXPECT_EQ(integer_of("max( min($width,8), 3+4 )"), 8);
  EXPECT_EQ(integer_of("$width*$width"), 256);
}

TEST(Expression, IntegersStayIntegersAndFractionsStayFractions) {
  EXPECT_EQ(value_of("$width / 4"), Value(std::int64_t{4}));
  EXPECT_EQ(value_of("$width * $ratio"), Value(8.0));
  EXPECT_EQ(value_of("1 / 4.0"), Value(0.25));
  EXPECT_EQ(value_of("2.5e-1 + 1"), Value(1.25));
}

TEST(Expression, AQuotedScalarWithAParameterIsAnExpression) {
  EXPECT_EQ(value_of("min($width, 4)", nullptr, true), Value(std::int64_t{4}));
}

TEST(Expression, AParameterAloneMayBeAWord) {
  EXPECT_EQ(value_of("$padding"), Value(std::string("same")));
  refuses("$padding + 1", "cannot calculate with `$padding`, which may be same");
}

TEST(Expression, MarksTheParametersThatItReads) {
  std::vector<bool> used;
  value_of("$width * 2 + $classes", &used);
  EXPECT_EQ(used, (std::vector<bool>{true, false, false}));
}

TEST(Expression, DividesWithoutRestAndRaisesToPowers) {
  EXPECT_EQ(integer_of("$width // 3"), 5);
  EXPECT_EQ(integer_of("-7 // 2 + $width"), 12);
  EXPECT_EQ(value_of("$ratio // 0.3"), Value(1.0));
  EXPECT_EQ(integer_of("2 ** 3 * $width"), 128);
  EXPECT_EQ(integer_of("$width * 2 ** 3 ** 2"), 16 * 512);
  EXPECT_EQ(value_of("$ratio ** 2"), Value(0.25));
  EXPECT_EQ(integer_of("max(1, $width // 8 * 8, 3)"), 16);
}

TEST(Expression, ComparesNumbersAndWords) {
  EXPECT_EQ(value_of("$width == 16"), Value(true));
  EXPECT_EQ(value_of("$width == 16.0"), Value(true));
  EXPECT_EQ(value_of("$width != 32"), Value(true));
  EXPECT_EQ(value_of("$width * 2 <= 32 and $ratio < 1"), Value(true));
  EXPECT_EQ(value_of("$width > 16 or not $ratio >= 1"), Value(true));
  EXPECT_EQ(value_of("$padding == same"), Value(true));
  EXPECT_EQ(value_of("$padding == 0"), Value(false));
  EXPECT_EQ(value_of("not ($width > 1 and true)"), Value(false));
}

TEST(Expression, ReadsOnlyWhatItsValueDependsOn) {
  EXPECT_EQ(integer_of("if($width == 16, 1, $width / 0)"), 1);
  std::vector<bool> used;
  EXPECT_EQ(value_of("if($width > 20, $ratio, 2)", &used), Value(std::int64_t{2}));
  EXPECT_EQ(used, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(value_of("$width > 20 and $ratio > 0", &used), Value(false));
  EXPECT_EQ(used, (std::vector<bool>{true, false, false}));
}

TEST(Expression, AComparisonThatNeverHoldsIsAMistakeUnlessTheValueIsGivenToABlock) {
  refuses("$padding == sane", "`$padding` is never sane, did you mean `same`?");
  refuses("$width == 257", "`$width` is never 257, known here: 16, 32");
  EXPECT_EQ(value_of("$given == sane"), Value(false));
}

TEST(Expression, AWordComparedWithAnotherConstantIsANameWithoutItsSign) {
  refuses("padding == same or $width == 16",
          "`padding` is a word here, and also the name of a parameter: write `$padding`");
  refuses("$width == 16 and same == 3", "expected a parameter beside `same`, as in `$name == same`");
  refuses("sane != same and $width == 16", "expected a parameter beside `same`, as in `$name == same`");
  EXPECT_EQ(value_of("$given == same"), Value(true));
}

TEST(Expression, RefusesToMixWordsFlagsAndNumbers) {
  refuses("$width and true", "expected true or false, got 16");
  refuses("$padding < 3", "cannot calculate with `$padding`, which may be same");
  refuses("$width + same", "cannot calculate with same");
  refuses("($width == 16) + 1", "cannot calculate with true");
  refuses("$width = 16", "expected `==`, got `=`");
  refuses("if($width == 16, 1)", "expected if(condition, value, other value)");
  refuses("2 ** ($width - 17)", "a whole number to the power of -1");
  refuses("$width ** 99", "the result does not fit into 64 bits");
}

TEST(Expression, NamesWhatIsWrong) {
  refuses("$widht * 2", "unknown parameter `$widht`, did you mean `$width`?");
  refuses("$clases", "unknown parameter `$clases`, did you mean `$classes`?");
  refuses("$width +", "expected a number, a `$name` or `(`, got the end");
  refuses("($width", "expected `)`, got the end");
  refuses("$width 2", "expected an operator, got `2`");
  refuses("mix($width, 2)", "unknown function `mix`, did you mean `min`?");
  refuses("2x + $width", "`2x` is not a number");
  refuses("$", "unknown parameter `$`, known here: $classes, $width, $ratio, $padding");
  refuses(std::string(1000, '(') + "$width", "nested too deeply", std::string(57, '(') + "...");
}

TEST(Expression, RefusesArithmeticThatIsNotExact) {
  refuses("$width / 3", "16 is not divisible by 3 (`//` rounds down)");
  refuses("$width / 0", "division of 16 by zero");
  refuses("$width % 0", "division of 16 by zero");
  refuses("$width / 0.0", "the result is not a finite number");
  refuses("$width % 0.5", "% takes whole numbers only");
  refuses("$width * 9223372036854775807", "the result does not fit into 64 bits");
  refuses("(-9223372036854775807 - 1) / (0 - 1)", "the result does not fit into 64 bits");
}

}  // namespace
}  // namespace skyline::space

#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::config_from_yaml;
using skyline::testing::user_error_of;

TEST(Value, ReadsScalarsAsTheNarrowestType) {
  EXPECT_EQ(read_value(config_from_yaml("3")), Value(std::int64_t{3}));
  EXPECT_EQ(read_value(config_from_yaml("3.0")), Value(3.0));
  EXPECT_EQ(read_value(config_from_yaml("1e-5")), Value(1e-5));
  EXPECT_EQ(read_value(config_from_yaml("true")), Value(true));
  EXPECT_EQ(read_value(config_from_yaml("same")), Value(std::string("same")));
  EXPECT_EQ(read_value(config_from_yaml("\"3\"")), Value(std::string("3")));
  EXPECT_EQ(read_value(config_from_yaml("[10, 4]")), Value(Sides{10, 4}));
  EXPECT_EQ(user_error_of([] { read_value(config_from_yaml("[10, \"4\"]")); }),
            "test.yaml:1:6: [1]: expected a whole number, got \"4\"");
  EXPECT_EQ(user_error_of([] { read_value(config_from_yaml("[1]")); }),
            "test.yaml:1:1: expected a single value or [height, width], got a list of 1");
  EXPECT_EQ(read_value(config_from_yaml("9223372036854775807")), Value(std::int64_t{9223372036854775807}));
  EXPECT_EQ(
      user_error_of([] { read_value(config_from_yaml("9223372036854775808")); }),
      "test.yaml:1:1: 9223372036854775808 has more than 64 bits: write a fraction, as in 1.0e+19, or a text "
      "in quotes");
}

TEST(Value, TextReadsBackAsTheSameValue) {
  for (const Value& value : {Value(std::int64_t{-7}), Value(1.0), Value(0.1), Value(1e300), Value(-2.5e-8),
                             Value(true), Value(std::string("same"))}) {
    EXPECT_EQ(read_value(ConfigNode::make_scalar(to_text(value), {})), value) << to_text(value);
  }
  EXPECT_EQ(to_text(Value(1.0)), "1.0");
  EXPECT_EQ(to_text(Value(1e-5)), "1e-05");
  EXPECT_EQ(to_text(Value(Sides{10, 4})), "[10, 4]");
  EXPECT_EQ(read_value(config_from_yaml("[10, 4]")), Value(Sides{10, 4}));
}

TEST(Value, TextIsNoNumber) {
  EXPECT_EQ(as_number(Value(std::int64_t{3})), 3.0);
  EXPECT_EQ(as_number(Value(true)), 1.0);
  EXPECT_EQ(user_error_of([] { as_number(Value(std::string("same"))); }), "expected a number, got same");
  EXPECT_EQ(user_error_of([] { as_number(Value(Null{})); }), "expected a number, got null");
}

TEST(Choice, IsTheValueWithTheTextOrElseOneThatIsMeant) {
  const Parameter mixed{
      "p", {std::int64_t{1}, 1.0, true, 0.1, std::string("a,b"), Null{}, std::string("nan")}, {}};
  const auto choice = [](const Parameter& parameter, const std::string& text,
                         std::optional<double> number = {}) {
    return choice_of(parameter, text, number).value_or(99);
  };
  EXPECT_EQ(choice(mixed, "1", 1), 0U);
  EXPECT_EQ(choice(mixed, "1.0", 1), 1U);
  EXPECT_EQ(choice(mixed, "1e0", 1), 0U) << "the first";
  EXPECT_EQ(choice(mixed, " True"), 2U);
  EXPECT_EQ(choice({"p", {false, true}, {}}, "1", 1), 1U);
  EXPECT_EQ(choice(mixed, "0.10", 0.10), 3U);
  EXPECT_EQ(choice(mixed, "0.11", 0.11), 99U);
  EXPECT_EQ(choice(mixed, "a,b"), 4U);
  EXPECT_EQ(choice(mixed, "A,B"), 99U) << "words are as they are";
  for (const char* null : {"null", "None", "", " "}) EXPECT_EQ(choice(mixed, null), 5U) << null;
  EXPECT_EQ(choice(mixed, "nan"), 6U);
  const Parameter kernels{"k", {std::int64_t{3}, Sides{3, 1}, Sides{3, 3}}, {}};
  EXPECT_EQ(choice(kernels, "3", 3), 0U);
  EXPECT_EQ(choice(kernels, "[3, 1]"), 1U);
  EXPECT_EQ(choice(kernels, " [3,3 ] "), 2U);
  for (const char* other : {"[1, 3]", "[3]", "[3, 1, 1]", "[3, 1.0]", "3, 1"})
    EXPECT_EQ(choice(kernels, other), 99U);
}

TEST(Choice, IsTheOnlyFractionThatIsTheNumberIn32Bits) {
  const Parameter rates{"lr", {0.01, 0.1, 0.1 + 1e-9, std::int64_t{16777216}, 1e300}, {}};
  for (const double rate : {0.01, 0.1}) {
    const double narrow = static_cast<float>(rate);
    EXPECT_EQ(choice_of(rates, std::to_string(narrow), narrow).has_value(), rate == 0.01)
        << "0.1 is two of them";
  }
  EXPECT_FALSE(choice_of(rates, "16777217", 16777217));
  EXPECT_FALSE(choice_of(rates, "2e300", 2e300));
}

TEST(ArchId, TextHasSixteenHexDigits) {
  const ArchId id{0x0123456789abcdefU};
  EXPECT_EQ(to_text(id), "0123456789abcdef");
}

}  // namespace
}  // namespace skyline::space

#include "skyline/core/error.hpp"
#include "skyline/space/genotype.hpp"

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
  EXPECT_EQ(user_error_of([] { read_value(config_from_yaml("[1]")); }),
            "test.yaml:1:1: expected a single value, got a list of 1");
}

TEST(Value, TextReadsBackAsTheSameValue) {
  for (const Value& value : {Value(std::int64_t{-7}), Value(1.0), Value(0.1), Value(1e300), Value(-2.5e-8),
                             Value(true), Value(std::string("same"))}) {
    EXPECT_EQ(read_value(ConfigNode::make_scalar(to_text(value), {})), value) << to_text(value);
  }
  EXPECT_EQ(to_text(Value(1.0)), "1.0");
  EXPECT_EQ(to_text(Value(1e-5)), "1e-05");
}

TEST(Value, TextIsNoNumber) {
  EXPECT_EQ(as_number(Value(std::int64_t{3})), 3.0);
  EXPECT_EQ(as_number(Value(true)), 1.0);
  EXPECT_EQ(user_error_of([] { as_number(Value(std::string("same"))); }), "expected a number, got same");
}

TEST(ArchId, TextHasSixteenHexDigits) {
  const ArchId id{0x0123456789abcdefU};
  EXPECT_EQ(to_text(id), "0123456789abcdef");
}

}  // namespace
}  // namespace skyline::space

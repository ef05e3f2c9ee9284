#include "core/text/shallow_json.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skyline {
namespace {

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + "1" + std::string(levels, ']');
}

TEST(ShallowJson, LeavesATextOfUpTo100LevelsAsItIs) {
  for (const std::string& text : {std::string(), std::string(R"({"a": [1, {"b": "x"}]})"), nested(100)}) {
    EXPECT_EQ(shallow_json(text), text);
  }
}

TEST(ShallowJson, EmptiesADeeperOne) {
  EXPECT_EQ(shallow_json(nested(101)), "");
  EXPECT_EQ(shallow_json(R"({"where": )" + nested(2'000'000) + "}"), "");
}

TEST(ShallowJson, CountsNoBracketsOfTexts) {
  const std::string brackets(200, '[');
  const std::string text = R"({"a": ")" + brackets + R"(\"{", "b\\": []})";
  EXPECT_EQ(shallow_json(text), text);
  EXPECT_EQ(shallow_json(R"({"a\\": )" + brackets), "");
}

}  // namespace
}  // namespace skyline

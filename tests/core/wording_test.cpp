#include "core/text/wording.hpp"

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(Wording, CountsOneWithoutAnS) {
  EXPECT_EQ(counted(1, "trial"), "1 trial");
  EXPECT_EQ(counted(std::size_t{0}, "trial"), "0 trials");
}

TEST(Wording, JoinsTextsEmptyOnesToo) {
  EXPECT_EQ(joined({"a", "", "c"}), "a, , c");
  EXPECT_EQ(joined({"a", "b"}, " and "), "a and b");
  EXPECT_EQ(joined({}), "");
}

TEST(Wording, TellsSecondsInTheUnitThatFits) {
  EXPECT_EQ(seconds_text(0.25), "250 ms");
  EXPECT_EQ(seconds_text(59.6), "60 s");
}

}  // namespace
}  // namespace skyline

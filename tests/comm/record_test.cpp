#include "comm/record.hpp"

#include "skyline/core/error.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using testing::ElementsAre;

struct Sample {
  std::string text;
  std::uint64_t number = 0;
  std::optional<double> seconds;
  std::vector<int> numbers;
  std::vector<std::string> texts;
};

template <typename Visitor>
void for_each_field(Sample& sample, Visitor& visit) {
  visit(sample.text, sample.number, sample.seconds, sample.numbers, sample.texts);
}

TEST(Record, ReadsBackWhatWasWritten) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::string text("a b\n3 \0", 7);
  const auto read = from_record<Sample>(to_record(Sample{text, kMost, 2.5, {1, -2}, {"", "1 x"}}));
  EXPECT_EQ(read.text, text);
  EXPECT_EQ(read.number, kMost);
  EXPECT_EQ(read.seconds, 2.5);
  EXPECT_THAT(read.numbers, ElementsAre(1, -2));
  EXPECT_THAT(read.texts, ElementsAre("", "1 x"));
}

TEST(Record, RefusesOneThatIsCutAnywhereOrTooLong) {
  const std::string record = to_record(Sample{"abc", 3, std::nullopt, {1, 2}, {"", "1 x"}});
  for (std::size_t length = 0; length < record.size(); ++length) {
    EXPECT_THROW(from_record<Sample>(record.substr(0, length)), InternalError) << length;
  }
  EXPECT_THROW(from_record<Sample>(record + "x"), InternalError);
}

TEST(Record, TakesNoMemoryForACountThatItCannotHold) {
  const std::string record = to_record(std::uint64_t{1} << 60) + "abc";
  EXPECT_THROW(from_record<std::string>(record), InternalError);
  EXPECT_THROW(from_record<std::vector<std::string>>(record), InternalError);
}

}  // namespace
}  // namespace skyline::comm

#include "comm/record_text.hpp"

#include "skyline/core/error.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using testing::ElementsAre;

struct Sample {
  std::string text;
  int number = 0;
  std::vector<int> numbers;
  std::vector<std::string> texts;
};

template <typename Visitor>
void for_each_field(Sample& sample, Visitor& visit) {
  visit(sample.text);
  visit(sample.number);
  visit(sample.numbers);
  visit(sample.texts);
}

TEST(RecordText, ReadsBackWhatWasWritten) {
  const auto read = from_record<Sample>(to_record(Sample{"a b\n3 ", -7, {1, 2}, {"", "1 x"}}));
  EXPECT_EQ(read.text, "a b\n3 ");
  EXPECT_EQ(read.number, -7);
  EXPECT_THAT(read.numbers, ElementsAre(1, 2));
  EXPECT_THAT(read.texts, ElementsAre("", "1 x"));
}

TEST(RecordText, RefusesARecordThatIsCutOrOfSomethingElse) {
  EXPECT_THROW(from_record<std::string>("9 abc"), InternalError);
  EXPECT_THROW(from_record<int>("abc"), InternalError);
  EXPECT_THROW(from_record<int>("12"), InternalError);
  EXPECT_THROW(from_record<int>(""), InternalError);
  EXPECT_THROW(from_record<std::vector<int>>("-1 "), InternalError);
}

}  // namespace
}  // namespace skyline::comm

#include "skyline/core/error.hpp"

#include "comm/binding_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using testing::ElementsAre;

TEST(RecordText, ReadsBackWhatWasWritten) {
  RecordWriter writer;
  writer.text("a b\n3 ");
  writer.number(-7);
  writer.numbers({1, 2});
  writer.text("");
  RecordReader reader(writer.record());
  EXPECT_EQ(reader.text(), "a b\n3 ");
  EXPECT_EQ(reader.number(), -7);
  EXPECT_THAT(reader.numbers(), ElementsAre(1, 2));
  EXPECT_EQ(reader.text(), "");
  EXPECT_THROW(reader.number(), InternalError);
}

TEST(RecordText, RefusesARecordThatIsCutOrOfSomethingElse) {
  EXPECT_THROW(RecordReader("9 abc").text(), InternalError);
  EXPECT_THROW(RecordReader("abc").number(), InternalError);
  EXPECT_THROW(RecordReader("12").number(), InternalError);
  EXPECT_THROW(RecordReader("-1 ").count(), InternalError);
}

}  // namespace
}  // namespace skyline::comm

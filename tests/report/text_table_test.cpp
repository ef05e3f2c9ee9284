#include "report/text/text_table.hpp"

#include "skyline/core/error.hpp"

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(TextTable, AlignsColumnsAndLeavesNoBlanksAtLineEnds) {
  TextTable table;
  table.add_column("n");
  table.add_column("name", TextTable::Align::kLeft);
  table.add_row({"1", "long name"});
  table.add_row({"1000", "x"});
  table.add_rule();
  table.add_row({"", "sum"});
  EXPECT_EQ(table.text(),
            "   n  name\n"
            "----  ---------\n"
            "   1  long name\n"
            "1000  x\n"
            "----  ---------\n"
            "      sum\n");
}

TEST(TextTable, EscapesLineBreaksAndOtherControlCharacters) {
  TextTable table;
  table.add_column("a\tb", TextTable::Align::kLeft);
  table.add_row({"x\ny"});
  EXPECT_EQ(table.text(), "a\\x09b\n------\nx\\x0ay\n");
}

TEST(TextTable, RefusesARowOfAnotherLength) {
  TextTable table;
  table.add_column("n");
  EXPECT_THROW(table.add_row({"1", "2"}), InternalError);
}

}  // namespace
}  // namespace skyline::report

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

TEST(TextTable, AlignsNamesByTheirCharactersNotTheirBytes) {
  TextTable table;
  table.add_column("Größe", TextTable::Align::kLeft);
  table.add_column("n");
  table.add_row({"naïve", "1"});
  table.add_row({"plain", "2"});
  EXPECT_EQ(table.text(),
            "Größe  n\n"
            "-----  -\n"
            "naïve  1\n"
            "plain  2\n");
}

TEST(TextTable, EscapesLineBreaksAndOtherControlCharacters) {
  TextTable table;
  table.add_column("a\tb", TextTable::Align::kLeft);
  table.add_row({"x\ny"});
  EXPECT_EQ(table.text(), "a\\x09b\n------\nx\\x0ay\n");
}

TEST(TextTable, FitsAWidthByTitlesOfSeveralLinesAndThenByDroppingColumnsOfHighRank) {
  const auto make = [] {
    TextTable table;
    table.add_column("n");
    table.add_column("kernel.stage_0.block_1", TextTable::Align::kRight, "", 1);
    table.add_column("expansion", TextTable::Align::kRight, "", 1);
    table.add_column("arch id", TextTable::Align::kLeft, "", 2);
    table.add_column("validation_accuracy", TextTable::Align::kRight, "10 epochs");
    table.add_row({"1", "3", "6", "0123456789abcdef", "0.9"});
    table.add_rule();
    table.add_row({"2", "5", "2", "fedcba9876543210", "0.8"});
    return table;
  };
  TextTable table = make();
  const std::string whole = table.text();
  EXPECT_EQ(table.fit(whole.find('\n')), 0U);
  EXPECT_EQ(table.text(), whole);
  EXPECT_EQ(table.fit(40), 1U);
  EXPECT_EQ(table.text(),
            "    kernel.\n"
            "   stage_0.             validation_\n"
            "n   block_1  expansion     accuracy\n"
            "                          10 epochs\n"
            "-  --------  ---------  -----------\n"
            "1         3          6          0.9\n"
            "-  --------  ---------  -----------\n"
            "2         5          2          0.8\n");
  EXPECT_EQ(table.fit(30), 1U);
  EXPECT_EQ(table.text().substr(0, 12), "    kernel.\n");
  EXPECT_EQ(table.fit(1), 1U) << "columns of rank 0 stay";
}

TEST(TextTable, BreaksTextsAtBlanksBeforeItDropsMoreColumnsThanNeeded) {
  TextTable table;
  table.add_column("n");
  table.add_column("reads", TextTable::Align::kLeft, "", 1);
  table.add_column("attributes", TextTable::Align::kText);
  table.add_column("k");
  table.add_row({"1", "input", "channels=16 kernel=3 stride=1", "8"});
  table.add_row({"2", "conv2d_0", "", "4"});
  EXPECT_EQ(table.fit(26), 1U);
  EXPECT_EQ(table.text(),
            "n  attributes            k\n"
            "-  --------------------  -\n"
            "1  channels=16 kernel=3  8\n"
            "   stride=1\n"
            "2                        4\n");
}

TEST(TextTable, RefusesARowOfAnotherLength) {
  TextTable table;
  table.add_column("n");
  EXPECT_THROW(table.add_row({"1", "2"}), InternalError);
}

}  // namespace
}  // namespace skyline::report

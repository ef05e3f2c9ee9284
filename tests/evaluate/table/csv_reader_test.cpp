#include "evaluate/table/csv_reader.hpp"

#include "support/gzip_text.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

using skyline::testing::gzip_text;
using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using Rows = std::vector<std::vector<std::string>>;

class CsvReaderTest : public ::testing::Test {
 protected:
  Rows rows_of(const std::string& text) const {
    overwrite(path, text);
    CsvReader reader(path);
    Rows rows;
    while (reader.read_row()) rows.push_back(reader.fields());
    return rows;
  }
  std::string error_of(const std::string& text) const {
    return user_error_of([&] { rows_of(text); });
  }

  ScratchFolder folder;
  std::filesystem::path path = folder / "table.csv";
};

TEST_F(CsvReaderTest, SeparatorsAndLineEndsAreFound) {
  const Rows expected{{"a", "b"}, {"1", "2"}};
  for (const char* text :
       {"a,b\n1,2\n", "a;b\r\n1;2", "a\tb\r1\t2\r", "a|b\n\n1|2\n", "a b\n1  2 \n", "sep=;\na;b\n1;2\n",
        "\xef\xbb\xbf"
        "a,b\n1,2\n"}) {
    EXPECT_EQ(rows_of(text), expected) << text;
  }
  EXPECT_EQ(rows_of("a;b;\n1;2;\n3;4;\n"), (Rows{{"a", "b"}, {"1", "2"}, {"3", "4"}}))
      << "every row ends with a separator";
}

TEST_F(CsvReaderTest, Utf16IsReadWithAndWithoutAMark) {
  const std::string letters(
      "a\0,\0\xe4\0\n\0"
      "1\0,\0"
      "2\0\n\0",
      16);
  const Rows expected{{"a", "\xc3\xa4"}, {"1", "2"}};
  EXPECT_EQ(rows_of("\xff\xfe" + letters), expected);
  std::string swapped("\xfe\xff");
  for (std::size_t i = 0; i < letters.size(); i += 2) swapped += {letters[i + 1], letters[i]};
  EXPECT_EQ(rows_of(swapped), expected);
  EXPECT_EQ(rows_of(std::string("a\0,\0b\0\n\0", 8)), (Rows{{"a", "b"}}));
}

TEST_F(CsvReaderTest, QuotedFieldsKeepBlanksSeparatorsAndLineEnds) {
  EXPECT_THAT(rows_of(R"( a b ," x",  "y  " ,"  ",""," z" w ,"q "" ")"),
              ElementsAre(ElementsAre("a b", " x", "y  ", "  ", "", " z w", "q \" ")));
  EXPECT_EQ(rows_of("a,b\n\"x \"\"y\"\"\",1\n\"x \"\"y\"\",\n\",2\n\"\"\",\n\"\"\",3\nz,4\n"),
            (Rows{{"a", "b"}, {"x \"y\"", "1"}, {"x \"y\",\n", "2"}, {"\",\n\"", "3"}, {"z", "4"}}));
  EXPECT_EQ(error_of("a,b\n\"x,1\n2,3\n"), path.string() + ":2: a quote that begins in this row never ends");
}

TEST_F(CsvReaderTest, NumbersHaveTheDecimalSignOfTheFile) {
  overwrite(path, "a;b\n1,5;+2\n\" -3e2 \";x\n");
  CsvReader reader(path);
  std::vector<std::optional<double>> numbers;
  while (reader.read_row()) numbers.push_back(reader.number(reader.fields().front()));
  EXPECT_THAT(numbers, ElementsAre(std::nullopt, 1.5, -300.0));
  EXPECT_EQ(reader.number("+2"), 2.0);
  EXPECT_EQ(reader.number("1.5x"), std::nullopt);
}

TEST_F(CsvReaderTest, PackedFilesAreReadAndRefusedWhereTheyEndTooEarlyOrNever) {
  EXPECT_EQ(rows_of(gzip_text("a,b\n1,2\n")), (Rows{{"a", "b"}, {"1", "2"}}));
  std::string rows;
  for (int i = 0; i < 20'000; ++i) rows += std::to_string(i * 7919 % 1000) + ",1\n";
  const std::string packed = gzip_text(rows);
  for (const std::size_t bytes : {packed.size() / 2, packed.size() - 4}) {
    EXPECT_EQ(error_of(packed.substr(0, bytes)), path.string() + ": damaged or truncated gzip file");
  }
  constexpr std::size_t kMost = std::size_t{1} << 24;
  EXPECT_EQ(error_of(gzip_text("1.5,2\n" + std::string(kMost + 1, '\n') + "2.5,3\n")),
            path.string() + ":16777218: more than 16777216 bytes of empty lines");
}

TEST_F(CsvReaderTest, RowsKnowTheirLines) {
  overwrite(path, "a,b\n\n\"1\n\",2\n3,4\n");
  CsvReader reader(path);
  std::vector<std::size_t> lines;
  while (reader.read_row()) lines.push_back(reader.line());
  EXPECT_THAT(lines, ElementsAre(1, 3, 5));
  EXPECT_EQ(reader.place(), path.string() + ":5: ");
}

}  // namespace
}  // namespace skyline::evaluate

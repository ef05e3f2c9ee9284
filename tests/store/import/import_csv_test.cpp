#include "store/arrays/csv_reader.hpp"
#include "store/fixtures/array_files.hpp"
#include "store/fixtures/gzip_text.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <hdf5.h>

namespace skyline::store {
namespace {

using skyline::testing::gzip_text;
using skyline::testing::prepared;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ImportArrays, CsvFilesHaveALabelColumnByNameOrNumber) {
  write("flowers.csv", "width,\"kind, of\",height\r\n1.5,\"a, b\",2\r\n2.5,c,3\n\n-1e3,c,4");
  const auto set = read({"flowers.csv"}, {{"label", "kind, of"}, {"test", "0"}});
  EXPECT_EQ(set->shape(), (space::Shape{2, 1, 1}));
  EXPECT_THAT(std::get<1>(set->train().values), ElementsAre(1.5F, 2, 2.5F, 3, -1000, 4));
  EXPECT_THAT(set->class_names(), ElementsAre("a, b", "c"));
  EXPECT_EQ(read({"flowers.csv"}, {{"label", "2"}})->class_names(), set->class_names());
  EXPECT_THAT(error({"flowers.csv"}, {{"label", "heigth"}}),
              HasSubstr("no column `heigth`, did you mean `height`?"));
  EXPECT_THAT(error({"flowers.csv"}),
              HasSubstr("flowers.csv: `kind, of`: expected numbers or the words of some "
                        "categories, got 2 different words, `a, b` in line 2"));
  write("train.csv", "10;0;1\n200;255;0\n");
  write("test.csv.gz", gzip_text("1;2;1\n"));
  const auto bytes = read({"train.csv", "test.csv.gz"}, {{"shape", "1x1x2"}});
  EXPECT_THAT(bytes->train().pixels(), ElementsAre(10, 0, 200, 255)) << "whole numbers up to 255 are pixels";
  EXPECT_THAT(bytes->test().pixels(), ElementsAre(1, 2));
  write("test.csv.gz", gzip_text("1;2;7\n"));
  EXPECT_THAT(error({"train.csv", "test.csv.gz"}),
              HasSubstr("target number 0 is a class that the training set does not have"));
  write("train.csv", "1,2,3\n4,5\n");
  EXPECT_THAT(error({"train.csv"}), HasSubstr("train.csv:2: expected 3 columns, got 2"));
  write("train.csv", "1,2,0.5\n4,7,0.25\n");
  EXPECT_THAT(std::get<2>(read({"train.csv"}, {{"test", "0"}})->train().targets), ElementsAre(1, -1))
      << "brought to mean 0 and deviation 1";
}

TEST_F(ImportArrays, CsvFilesMayCountTheirColumnsAsPandasDoes) {
  for (const char* names : {"0,1,2", "0,1,label", "label,0,1"}) {
    const bool label_first = names[0] == 'l';
    write("train.csv", std::string(names) + (label_first ? "\n7,300,5\n8,30,6\n" : "\n300,5,7\n30,6,8\n"));
    const auto set = read({"train.csv"}, {{"test", "0"}, {"label", label_first ? "label" : "3"}});
    EXPECT_THAT(std::get<1>(set->train().values), ElementsAre(300, 5, 30, 6)) << names;
    EXPECT_THAT(set->class_names(), ElementsAre("7", "8"));
  }
  write("train.csv", "0,1\n300,0\n");
  EXPECT_EQ(read({"train.csv"}, {{"test", "0"}})->train().count, 2U) << "may as well be a sample";
}

TEST_F(ImportArrays, CsvFilesMayBeginWithAByteOrderMarkAndQuoteQuotes) {
  write("train.csv", "\xef\xbb\xbfkind,width\n\"5\"\" pipe\",0.5\n5 pipe,1.5\n");
  const auto set = read({"train.csv"}, {{"test", "0"}, {"label", "kind"}});
  EXPECT_THAT(set->class_names(), ElementsAre("5 pipe", "5\" pipe"));
  write("train.csv",
        "\xef\xbb\xbf"
        "1,2,0\n3,4,1\n");
  EXPECT_THAT(read({"train.csv"}, {{"test", "0"}})->train().pixels(), ElementsAre(1, 2, 3, 4));
}

TEST_F(ImportArrays, CsvFilesKeepBlanksInsideQuotesAloneAndReadQuotedNumbersInThem) {
  EXPECT_THAT(split_csv(R"( a b ," x",  "y  " ,"  ",""," z" w ,"q "" ")", ','),
              ElementsAre("a b", " x", "y  ", "  ", "", " z w", "q \" "));
  EXPECT_THAT(split_csv(R"(a  " b" "" )", ' '), ElementsAre("a", " b", ""));
  write("train.csv", "width,kind\n\" 1.5\",\" x\"\n 2.5 , x\n\"3.5 \",\"x \"\n");
  const auto set = read({"train.csv"}, {{"test", "0"}, {"label", "kind"}});
  EXPECT_THAT(std::get<1>(set->train().values), ElementsAre(1.5F, 2.5F, 3.5F));
  EXPECT_THAT(set->class_names(), ElementsAre(" x", "x", "x "));
}

TEST_F(ImportArrays, CsvRowsEndAfterAQuotedFieldThatEndsWithQuotesOrHasThemBeforeASeparator) {
  write("quotes.csv", R"(a,b
"x ""y""",1
"x ""y"",
",2
""",
""",3
z,4
)");
  CsvReader reader(folder / "quotes.csv");
  std::vector<std::string> words;
  while (reader.read_row()) words.push_back(reader.fields().at(0));
  EXPECT_THAT(words, ElementsAre("a", "x \"y\"", "x \"y\",\n", "\",\n\"", "z"));
}

TEST_F(ImportArrays, CsvFilesAreOfThePartThatIsAWordOfTheirNames) {
  for (const char* test : {"my-test2.csv", "digits_testing.csv", "MnistTest.csv", "testset.csv"}) {
    write("retrieval_latest.csv", "1,2,0\n3,4,1\n");
    write(test, "5,6,1\n");
    write("valid.csv", "7,8,0\n");
    const auto set = read({"retrieval_latest.csv", test, "valid.csv"});
    EXPECT_THAT(set->train().pixels(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(set->test().pixels(), ElementsAre(5, 6)) << test;
    EXPECT_THAT(set->validation().pixels(), ElementsAre(7, 8));
  }
  write("train_val.csv", "1,2,0\n3,4,1\n");
  EXPECT_EQ(read({"train_val.csv"}, {{"test", "0"}})->train().count, 2U);
}

TEST_F(ImportArrays, PackedFilesThatEndTooEarlyAreRefused) {
  std::string rows;
  for (int i = 0; i < 20'000; ++i)
    rows += std::to_string(i * 7919 % 1000) + "," + std::to_string(i % 2) + "\n";
  const std::string packed = gzip_text(rows);
  for (const std::size_t bytes : {packed.size() / 2, packed.size() - 4}) {
    write("train.csv.gz", packed.substr(0, bytes));
    EXPECT_THAT(error({"train.csv.gz"}), HasSubstr("train.csv.gz: damaged or truncated gzip file")) << bytes;
  }
}

TEST_F(ImportArrays, PackedEmptyLinesAreRefusedWhereTheyNeverEnd) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  write("train.csv.gz", gzip_text("1.5,2,a\n" + std::string(kMost + 1, '\n') + "2.5,3,b\n"));
  EXPECT_THAT(error({"train.csv.gz"}),
              HasSubstr("train.csv.gz:16777218: more than 16777216 bytes of empty lines"));
}

TEST_F(ImportArrays, CsvFilesWhoseNumbersHappenToBeWholeGoWithOthers) {
  write("train.csv", "1.5,2,a\n2.5,3,b\n");
  write("test.csv", "7,8,b\n");
  const auto set = read({"train.csv", "test.csv"});
  EXPECT_THAT(std::get<1>(set->test().values), ElementsAre(7.0F, 8.0F));
  EXPECT_THAT(set->test().classes(), ElementsAre(1));
  write("test.csv", "7,8,c\n");
  EXPECT_THAT(error({"train.csv", "test.csv"}),
              HasSubstr("`c` is a class that the training set does not have"));
  write("test.csv", "7,8,9\n");
  EXPECT_THAT(error({"train.csv", "test.csv"}),
              HasSubstr("expected words as in " + (folder / "train.csv").string()));
}

TEST_F(ImportArrays, LabelsAreWordsAsSoonAsOneIsNoNumberAndBlanksMaySeparate) {
  write("train.csv", "1 2 10\n3 4 9 \n5 6 red\n");
  const auto set = read({"train.csv"}, {{"test", "0"}});
  EXPECT_THAT(set->class_names(), ElementsAre("10", "9", "red"));
  EXPECT_THAT(set->train().classes(), ElementsAre(0, 1, 2));
  EXPECT_THAT(set->train().pixels(), ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace skyline::store

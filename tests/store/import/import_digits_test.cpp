#include "store/fixtures/gzip_text.hpp"
#include "store/fixtures/scratch_folder.hpp"
#include "store/import/known_sets.hpp"
#include "support/user_error_of.hpp"

#include <map>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::gzip_text;
using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

std::string row(int pixel, int label, std::size_t num_pixels = 64) {
  std::string text;
  for (std::size_t i = 0; i < num_pixels; ++i) text += std::to_string(pixel) + ",";
  return text + std::to_string(label) + "\n";
}

class ImportDigits : public ::testing::Test {
 protected:
  std::string error_with(const std::string& content) {
    overwrite(path, content);
    return user_error_of([&] { import_digits(path); });
  }

  ScratchFolder folder;
  std::filesystem::path path = folder / "digits.csv";
};

TEST_F(ImportDigits, ReadsTheFileThatShipsWithTheProject) {
  const DatasetContents contents =
      import_digits(std::filesystem::path(SKYLINE_SOURCE_DIR) / "data/digits.csv.gz");
  EXPECT_EQ(contents.shape, (space::Shape{1, 8, 8}));
  EXPECT_EQ(contents.value_scale, 16);
  EXPECT_EQ(contents.train.classes().size() + contents.test.classes().size(), 1797u);
  std::map<std::int32_t, std::size_t> train;
  std::map<std::int32_t, std::size_t> test;
  for (const std::int32_t label : contents.train.classes()) ++train[label];
  for (const std::int32_t label : contents.test.classes()) ++test[label];
  for (std::int32_t label = 0; label < 10; ++label) EXPECT_EQ(test[label], (train[label] + test[label]) / 5);
  const std::vector<std::uint8_t> first = {0, 0, 5, 13, 9, 1, 0, 0};
  EXPECT_TRUE(std::equal(first.begin(), first.end(), contents.train.pixels().begin()));
  EXPECT_EQ(contents.train.classes()[0], 0);
}

TEST_F(ImportDigits, TheLastFifthOfEveryClassIsTheTestSet) {
  std::string content;
  for (int i = 0; i < 10; ++i) content += row(i, 3) + row(i + 1, 7);
  overwrite(path, content);
  const DatasetContents contents = import_digits(path);
  EXPECT_EQ(contents.test.classes(), (std::vector<std::int32_t>{3, 7, 3, 7}));
  EXPECT_EQ(contents.test.pixels()[0], 8);
  EXPECT_EQ(contents.test.pixels()[std::size_t{3} * 64], 10);
  EXPECT_EQ(contents.train.classes().size(), 16u);
}

TEST_F(ImportDigits, TakesGzipWindowsLinesAndNoLastNewline) {
  overwrite(path, gzip_text(row(1, 2)));
  EXPECT_EQ(import_digits(path).train.classes().size(), 1u);
  const std::string line = row(1, 2).substr(0, row(1, 2).size() - 1);
  overwrite(path, line + "\r\n" + line);
  EXPECT_EQ(import_digits(path).train.classes().size(), 2u);
}

TEST_F(ImportDigits, NamesTheLineOfAWrongRow) {
  const std::string place = path.string() + ":2: ";
  EXPECT_EQ(error_with(row(1, 2) + row(1, 2, 63)), place + "expected 65 values, got 64");
  EXPECT_EQ(error_with(row(1, 2) + row(1, 2, 65)), place + "expected 65 values, got more");
  EXPECT_EQ(error_with(row(1, 2) + row(17, 2)), place + "column 1: expected 0 to 16, got `17`");
  EXPECT_EQ(error_with(row(1, 2) + row(1, 10)), place + "column 65: expected 0 to 9, got `10`");
  EXPECT_EQ(error_with(row(1, 2) + "pixels" + row(1, 2)),
            place + "column 1: expected 0 to 16, got `pixels1`");
  EXPECT_EQ(error_with(row(1, 2) + "\n" + row(1, 2)), place + "column 1: expected 0 to 16, got ``");
}

TEST_F(ImportDigits, NamesAnEmptyAndAMissingFile) {
  EXPECT_EQ(error_with(""), path.string() + ": the file is empty");
  std::filesystem::remove(path);
  EXPECT_EQ(user_error_of([&] { import_digits(path); }),
            "cannot read " + path.string() + ": No such file or directory");
}

}  // namespace
}  // namespace skyline::store

#include "store/data/seal_dataset.hpp"

#include "store/arrays/preparation.hpp"
#include "store/fixtures/sample_dataset.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/publish.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"
#include "support/written_dataset.hpp"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::DatasetContents;
using skyline::testing::overwrite;
using skyline::testing::same_dataset;
using skyline::testing::sample_contents;
using skyline::testing::sample_table;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using skyline::testing::write_unsealed;

constexpr const char* kPreparation =
    R"({"has_names":true,"features":[{"column":"a"},{"column":"b"},{"column":"c"},{"column":"d"}]})";

class SealDatasetTest : public ::testing::Test {
 protected:
  std::string error_of(const DatasetContents& contents) const {
    write_unsealed(made, contents, kSealBytes);
    return user_error_of([&] { seal_dataset(made, target); });
  }

  ScratchFolder folder;
  std::filesystem::path made = folder / "made.h5";
  std::filesystem::path target = folder / "set.h5";
};

TEST_F(SealDatasetTest, AFileHasTheSameContentsAsBeforeAndAllThatASealedOneHas) {
  DatasetContents contents = sample_contents();
  contents.train.groups.assign(30, 7);
  write_unsealed(made, contents, kSealBytes);
  EXPECT_TRUE(seal_dataset(made, target));
  EXPECT_FALSE(std::filesystem::exists(made));
  const auto sealed = Dataset::open(target, true);
  EXPECT_TRUE(same_dataset(*sealed, contents));
  const std::filesystem::path plain = folder / "plain.h5";
  write_unsealed(plain, contents, 0);
  const auto unsealed = Dataset::open(plain, true);
  EXPECT_EQ(sealed->mean(), unsealed->mean());
  EXPECT_EQ(sealed->deviation(), unsealed->deviation());
}

TEST_F(SealDatasetTest, TheSameInputGivesTheSameBytes) {
  std::vector<std::string> files;
  for (int i = 0; i < 2; ++i) {
    write_unsealed(made, sample_table(TargetKind::kNumbers), kSealBytes, kPreparation);
    EXPECT_TRUE(seal_dataset(made, target));
    files.push_back(read_file(target));
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(Dataset::open(target, true)->preparation(), kPreparation);
}

TEST_F(SealDatasetTest, ValuesAreCheckedInEveryPart) {
  DatasetContents contents = sample_table(TargetKind::kClasses);
  std::get<1>(contents.validation.values)[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of(contents),
            made.string() + ": validation value number 5: expected a finite number, got inf");
  contents = sample_table(TargetKind::kClasses);
  contents.train.classes()[19] = 3;
  EXPECT_EQ(error_of(contents), made.string() + ": train class number 19: expected 0 to 2, got 3");
  contents = sample_table(TargetKind::kLabels);
  std::get<1>(contents.train.targets)[4] = 2;
  EXPECT_EQ(error_of(contents), made.string() + ": train target number 4: expected 0 or 1, got 2");
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(SealDatasetTest, LargePartsAreCheckedInBlocksAndTheNumberIsThatOfThePart) {
  DatasetContents contents = sample_table(TargetKind::kNumbers);
  contents.shape = {1 << 20, 2, 1};  // two samples are a block
  auto& values = std::get<1>(contents.train.values);
  values.assign(std::size_t{5} << 21U, 1);
  std::get<2>(contents.train.targets).resize(15);
  contents.validation = {};
  std::get<2>(contents.train.targets)[13] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of(contents),
            made.string() + ": train target number 13: expected a finite number, got nan");
}

TEST_F(SealDatasetTest, NamesOfClassesAreShownAsTheyAre) {
  DatasetContents contents = sample_contents();
  contents.class_names[1] = "a\x1b[2J";
  EXPECT_EQ(error_of(contents), made.string() +
                                    ": expected names of classes in UTF-8 and without control characters, "
                                    "got `a\\x1b[2J`: rename it");
}

TEST_F(SealDatasetTest, AnythingElseThanHdf5BehindAnEmptyBlockIsRefused) {
  const std::string expected = made.string() + ": expected HDF5 behind 1024 empty bytes for the seal";
  const auto error = [&] { return user_error_of([&] { seal_dataset(made, target); }); };
  write_unsealed(made, sample_contents(), 0);
  EXPECT_EQ(error(), expected);
  write_unsealed(made, sample_contents(), 512);
  EXPECT_EQ(error(), expected);
  write_unsealed(made, sample_contents(), kSealBytes);
  seal_dataset(made, made);
  EXPECT_EQ(error(), expected);
  overwrite(made, "");
  EXPECT_NE(error(), "(nothing was thrown)");
}

TEST_F(SealDatasetTest, AStopLeavesTheFileWithoutItsName) {
  write_unsealed(made, sample_contents(), kSealBytes);
  EXPECT_FALSE(seal_dataset(made, target, [] { return true; }));
  EXPECT_TRUE(std::filesystem::exists(made));
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(SealDatasetTest, AFileOfAnotherProgramMayCarryAPreparation) {
  const auto write = [&](const std::string& preparation) {
    write_unsealed(target, sample_table(TargetKind::kClasses), 0, preparation);
  };
  write(kPreparation);
  EXPECT_EQ(Dataset::open(target, true)->preparation(), kPreparation);
  const auto error = [&] { return user_error_of([&] { Dataset::open(target, false); }); };
  write(R"({"has_names":true,"features":[{"column":"a"}]})");
  EXPECT_EQ(error(), target.string() + ": preparation: expected 4 features, got 1");
  write(R"({"sound":{"rate":8000}})");
  EXPECT_TRUE(read_preparation(Dataset::open(target, true)->preparation()).of_sounds());
  write(R"({"sound":"loud"})");
  EXPECT_NE(error().find("expected a preparation as `skyline prep` writes it"), std::string::npos);
  write(R"({"sound":{"features":"log-mel","rate":8000,"length":100,"window":1e300}})");
  EXPECT_NE(error().find("expected a preparation as `skyline prep` writes it"), std::string::npos);
  write("of my own");
  EXPECT_EQ(error(), target.string() +
                         ": preparation: expected a preparation as `skyline prep` writes it, got of my own");
}

}  // namespace
}  // namespace skyline::store

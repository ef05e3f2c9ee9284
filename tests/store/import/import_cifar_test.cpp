#include "store/fixtures/scratch_folder.hpp"
#include "store/import/known_sets.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

std::string record(char label, char pixel) {
  return std::string(1, label) + std::string(3072, pixel);
}

class ImportCifar : public ::testing::Test {
 protected:
  void write_batches(const std::filesystem::path& place) {
    for (char i = 1; i <= 5; ++i) {
      overwrite(place / ("data_batch_" + std::to_string(i) + ".bin"), record(i, i) + record(0, 'z'));
    }
    overwrite(place / "test_batch.bin", record(9, 't'));
  }
  std::string error() const {
    return user_error_of([&] { import_cifar10(folder.path()); });
  }

  ScratchFolder folder;
};

TEST_F(ImportCifar, ReadsTheBatchesInOrder) {
  write_batches(folder.path());
  const DatasetContents contents = import_cifar10(folder.path());
  EXPECT_EQ(contents.shape, (space::Shape{3, 32, 32}));
  EXPECT_EQ(contents.train.classes(), (std::vector<std::int32_t>{1, 0, 2, 0, 3, 0, 4, 0, 5, 0}));
  EXPECT_EQ(contents.train.pixels().size(), 10u * 3072);
  EXPECT_EQ(contents.train.pixels()[std::size_t{8} * 3072], 5);
  EXPECT_EQ(contents.test.classes(), (std::vector<std::int32_t>{9}));
  EXPECT_EQ(contents.class_names[0], "airplane");
}

TEST_F(ImportCifar, LooksInTheArchivesFolderAndReadsTheNames) {
  std::filesystem::create_directory(folder / "cifar-10-batches-bin");
  write_batches(folder / "cifar-10-batches-bin");
  overwrite(folder / "cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_EQ(import_cifar10(folder.path()).class_names[9], "j");
  overwrite(folder / "cifar-10-batches-bin/batches.meta.txt", "a\nb\n");
  EXPECT_EQ(error(),
            (folder / "cifar-10-batches-bin/batches.meta.txt").string() + ": expected 10 class names, got 2");
}

TEST_F(ImportCifar, NamesTruncatedFilesAndLabelsOutOfRange) {
  write_batches(folder.path());
  overwrite(folder / "data_batch_3.bin", record(1, 'x').substr(0, 3000));
  EXPECT_EQ(error(), (folder / "data_batch_3.bin").string() +
                         ": truncated: expected a multiple of 3073 bytes, got 3000");
  overwrite(folder / "data_batch_3.bin", record(1, 'x') + record(12, 'x'));
  EXPECT_EQ(error(), (folder / "data_batch_3.bin").string() + ": label number 1: expected 0 to 9, got 12");
}

TEST_F(ImportCifar, NamesThePythonVersion) {
  std::filesystem::create_directory(folder / "cifar-10-batches-py");
  overwrite(folder / "cifar-10-batches-py/data_batch_1", "\x80\x02}q\x01");
  EXPECT_EQ(error(),
            (folder / "cifar-10-batches-py").string() +
                ": the Python version of CIFAR-10, expected the binary version, which is offered beside it");
  overwrite(folder / "train", "\x80\x02}q\x01");
  EXPECT_THAT(user_error_of([&] { import_cifar100(folder.path()); }),
              ::testing::HasSubstr("the Python version of CIFAR-100"));
}

TEST_F(ImportCifar, NamesWhatIsMissing) {
  EXPECT_EQ(
      error(),
      folder.path().string() +
          ": expected data_batch_1.bin here or in cifar-10-batches-bin (the binary version of CIFAR-10)");
  write_batches(folder.path());
  std::filesystem::remove(folder / "test_batch.bin");
  EXPECT_EQ(error(), "cannot read " + (folder / "test_batch.bin").string() + ": No such file or directory");
}

TEST_F(ImportCifar, OfCifar100TheFineLabelsCount) {
  std::string names;
  for (int i = 0; i < 100; ++i) names += "class" + std::to_string(i) + "\n";
  overwrite(folder / "fine_label_names.txt", names);
  overwrite(folder / "train.bin",
            std::string("\x03", 1) + record(99, 'a') + std::string("\x04", 1) + record(0, 'b'));
  overwrite(folder / "test.bin", std::string("\x03", 1) + record(7, 'c'));
  const DatasetContents contents = import_cifar100(folder.path());
  EXPECT_EQ(contents.train.classes(), (std::vector<std::int32_t>{99, 0}));
  EXPECT_EQ(contents.train.pixels()[3072], 'b');
  EXPECT_EQ(contents.test.classes(), (std::vector<std::int32_t>{7}));
  EXPECT_EQ(contents.class_names[99], "class99");
}

}  // namespace
}  // namespace skyline::store

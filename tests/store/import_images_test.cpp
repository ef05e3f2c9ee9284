#include "skyline/store/dataset.hpp"

#include "scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportImages : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((folder / name).parent_path());
    overwrite(folder / name, content);
  }
  /// A grey image of 2 x 1.
  void write_grey(const std::string& name, const std::string& two_pixels) const {
    write(name, "P5\n2 1\n255\n" + two_pixels);
  }
  std::string error() const {
    return user_error_of([&] { import_images(folder.path()); });
  }

  ScratchFolder folder;
};

TEST_F(ImportImages, ClassesAreFoldersByNameAndTheirLastFifthIsTheTestSet) {
  for (char file = 'a'; file <= 'e'; ++file) {
    write_grey(std::string("dog/") + file + ".pgm", std::string(2, file));
    write_grey(std::string("cat/") + file + ".pgm", std::string(2, static_cast<char>(file - 32)));
  }
  write("cat/.hidden", "no image");
  write("README.txt", "no folder");
  const DatasetContents contents = import_images(folder.path());
  EXPECT_EQ(contents.shape, (space::Shape{1, 1, 2}));
  EXPECT_EQ(contents.value_scale, 255);
  EXPECT_THAT(contents.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(contents.train.classes(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(std::string(contents.train.pixels().begin(), contents.train.pixels().end()), "AABBCCDDaabbccdd");
  EXPECT_THAT(contents.test.classes(), ElementsAre(0, 1));
  EXPECT_EQ(std::string(contents.test.pixels().begin(), contents.test.pixels().end()), "EEee");
}

TEST_F(ImportImages, TrainingAndTestSetMayBeApart) {
  write_grey("train/cat/1.pgm", "ab");
  write_grey("train/dog/1.pgm", "cd");
  write_grey("test/dog/1.pgm", "ef");
  const DatasetContents contents = import_images(folder.path());
  EXPECT_THAT(contents.train.classes(), ElementsAre(0, 1));
  EXPECT_THAT(contents.test.classes(), ElementsAre(1));
  write_grey("test/cow/1.pgm", "gh");
  EXPECT_THAT(error(), HasSubstr("test/cow: a class without a folder in "));
}

TEST_F(ImportImages, ColoursBecomePlanesAndCommentsAreSkipped) {
  write("a/1.ppm",
        "P6 # made by a test\n# of two lines\n2\t2\n255\n"
        "RGBrgbSTUstu");
  write("b/1.ppm",
        "P6 2 2 255\n"
        "123456789abc");
  const DatasetContents contents = import_images(folder.path());
  EXPECT_EQ(contents.shape, (space::Shape{3, 2, 2}));
  EXPECT_EQ(std::string(contents.train.pixels().begin(), contents.train.pixels().end()),
            "RrSsGgTtBbUu"
            "147a258b369c");
}

TEST_F(ImportImages, MakesADataSetFile) {
  write_grey("a/1.pgm", "ab");
  write_grey("b/1.pgm", "cd");
  write_dataset(folder / "set.h5", import_images(folder.path()));
  EXPECT_EQ(Dataset::open(folder / "set.h5", true)->train().count, 2U);
}

TEST_F(ImportImages, WhatIsNoImageOfTheSameSizeIsNamed) {
  write_grey("a/1.pgm", "ab");
  EXPECT_THAT(error(), HasSubstr("expected a folder of images for each of at least 2 classes"));
  struct Case {
    std::string content;
    std::string message;
  };
  for (const Case& wrong :
       {Case{"\x89PNG....", "expected a binary PGM or PPM image"},
        Case{"", "expected a binary PGM or PPM image"},
        Case{"P5\n2 1\n65535\nabcd", "expected 255 as the largest value, got 65535"},
        Case{"P5\n2 x\n255\nab", "height: expected a number from 1"},
        Case{"P5\n-2 1\n255\nab", "width: expected a number from 1"},
        Case{"P5\n99999 99999\n255\nab", "width: expected a number from 1 to 32768"},
        Case{"P5\n2 1\n255", "expected 2 bytes of pixels, got 0"},
        Case{"P5\n2 1\n255\nabc", "expected 2 bytes of pixels, got 3"},
        Case{"P5\n1 2\n255\nab", "expected 1x1x2 as in "}, Case{"P6\n2 1\n255\nabcdef", ", got 3x1x2"}}) {
    SCOPED_TRACE(wrong.content);
    write("b/2.pgm", wrong.content);
    EXPECT_THAT(error(), AllOf(HasSubstr("b/2.pgm: "), HasSubstr(wrong.message)));
  }
  EXPECT_THAT(user_error_of([&] { import_images(folder / "none"); }), HasSubstr("none"));
}

TEST_F(ImportImages, APipeIsRefusedInsteadOfWaitedFor) {
  write_grey("a/1.pgm", "ab");
  write_grey("b/1.pgm", "ab");
  const std::filesystem::path pipe = folder / "b/2.pgm";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error(), pipe.string() + ": expected a file, found a pipe or a device");
}

}  // namespace
}  // namespace skyline::store

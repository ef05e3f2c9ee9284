#include "store/fixtures/image_files.hpp"
#include "store/fixtures/prepared.hpp"
#include "store/fixtures/scratch_folder.hpp"
#include "store/images/image_folder.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using skyline::testing::jpeg_file;
using skyline::testing::make_image;
using skyline::testing::Options;
using skyline::testing::overwrite;
using skyline::testing::png_file;
using skyline::testing::pnm_file;
using skyline::testing::prepared;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using skyline::testing::webp_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportImages : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((images / name).parent_path());
    overwrite(images / name, content);
  }
  /// A grey image of 2 x 1.
  void write_grey(const std::string& name, const std::string& two_pixels) const {
    write(name, "P5\n2 1\n255\n" + two_pixels);
  }
  std::shared_ptr<const Dataset> read(const Options& options = {}, std::size_t threads = 3) const {
    return prepared("images", {images.path()}, out / "set.h5", options, threads);
  }
  std::string error(const Options& options = {}) const {
    return user_error_of([&] { read(options); });
  }
  static std::string text(const SampleView& samples) {
    return {samples.pixels().begin(), samples.pixels().end()};
  }

  ScratchFolder images;
  ScratchFolder out;
};

TEST_F(ImportImages, ClassesAreFoldersByNameAndAFifthOfEachIsDrawnForTheTestSet) {
  for (char file = 'a'; file <= 'e'; ++file) {
    write_grey(std::string("dog/") + file + ".pgm", std::string(2, file));
    write_grey(std::string("cat/") + file + ".pgm", std::string(2, static_cast<char>(file - 32)));
  }
  write("cat/.hidden", "no image");
  write("README.txt", "no folder");
  const auto set = read();
  EXPECT_EQ(set->shape(), (space::Shape{1, 1, 2}));
  EXPECT_EQ(set->value_scale(), 255);
  EXPECT_THAT(set->class_names(), ElementsAre("cat", "dog"));
  EXPECT_THAT(set->train().classes(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(set->test().classes(), ElementsAre(0, 1));
  std::string all = text(set->train()) + text(set->test());
  std::ranges::sort(all);
  EXPECT_EQ(all, "AABBCCDDEEaabbccddee") << "each image is in one part";
  const std::string test = text(set->test());
  EXPECT_EQ(text(read()->test()), test) << "the same seed draws the same";
  bool other = false;
  for (const char* seed : {"2", "3", "4", "5"}) other = other || text(read({{"seed", seed}})->test()) != test;
  EXPECT_TRUE(other);
}

TEST_F(ImportImages, ValuesThatEightBitsMergeAreTold) {
  const auto notes = [&] {
    std::vector<std::string> lines;
    prepared("images", {images.path()}, out / "set.h5", {{"test", "0"}}, 2, &lines);
    return lines;
  };
  write("a/1.pgm", "P2 2 1 65535 0 257");
  write("b/1.pgm", "P2 2 1 65535 65535 514");
  EXPECT_THAT(notes(), ::testing::IsEmpty()) << "8 bits hold as many";
  write("b/2.pgm", "P2 2 1 65535 1 258");
  EXPECT_THAT(
      notes(),
      ElementsAre("check: 3 images with more than 8 bits per value: their 6 different values are 4 as "
                  "pixels (`skyline prep arrays` keeps those of an array)"));
}

TEST_F(ImportImages, ThePartsMayBeFoldersAndClassesMayHaveFoldersInside) {
  write_grey("train/cat/1.pgm", "ab");
  write_grey("train/cat/deep/er/2.pgm", "AB");
  write_grey("train/dog/1.pgm", "cd");
  write_grey("val/dog/1.pgm", "xy");
  write_grey("test/dog/1.pgm", "ef");
  const auto set = read();
  EXPECT_THAT(set->train().classes(), ElementsAre(0, 0, 1));
  EXPECT_EQ(text(set->train()), "abABcd");
  EXPECT_EQ(text(set->validation()), "xy");
  EXPECT_EQ(text(set->test()), "ef");
  EXPECT_THAT(error({{"validation", "0.1"}}), HasSubstr("it has a folder for the validation set"));
  write_grey("test/cow/1.pgm", "gh");
  EXPECT_THAT(error(), HasSubstr("test/cow: a class that the training set does not have"));
}

TEST_F(ImportImages, PartFoldersAreKnownInAnyCaseAndAsKaggleNamesThem) {
  struct Names {
    std::string train;
    std::string val;
    std::string test;
  };
  for (const Names& names :
       {Names{"Training", "Valid", "Testing"}, Names{"TRAIN", "Validation", "TEST"},
        Names{"seg_train/seg_train", "valid_set", "seg_test/seg_test"},
        Names{"train2017", "val2017", "test2017"}, Names{"TrainingSet", "ValData", "test_images"}}) {
    write_grey(names.train + "/cat/1.pgm", "ab");
    write_grey(names.train + "/dog/1.pgm", "cd");
    write_grey(names.val + "/dog/1.pgm", "ef");
    write_grey(names.test + "/cat/1.pgm", "gh");
    write("__MACOSX/train/cat/._1.pgm", "not a picture");
    const auto set = read();
    EXPECT_THAT(set->class_names(), ElementsAre("cat", "dog")) << names.train;
    EXPECT_EQ(text(set->train()) + text(set->validation()) + text(set->test()), "abcdefgh");
    for (const auto& entry : std::filesystem::directory_iterator(images.path())) remove_all(entry.path());
  }
}

TEST_F(ImportImages, WhatIsNotReadOrMayBeMeantOtherwiseIsTold) {
  write_grey("Train/cat/1.pgm", "ab");
  write_grey("Train/dog/1.pgm", "cd");
  write_grey("Train/loose.pgm", "ef");
  write_grey("Test/1.pgm", "gh");
  write_grey("plane/1.pgm", "ij");
  write("LIESMICH.TXT", "text");
  const auto told = ImageFolder(images.path()).doubts();
  EXPECT_THAT(told, ElementsAre(images.path().string() +
                                    ": not read, beside the folders of the parts: `Test`, `plane`, 1 .txt",
                                (images / "Train").string() +
                                    ": not read, beside the folders of the classes: 1 .pgm"));
  write_grey("training/cat/1.pgm", "ab");
  EXPECT_THAT(error(), HasSubstr("`Train` and `training` are both named like the train set"));
}

TEST_F(ImportImages, FoldersOfClassesThatAllHaveTheSameFoldersAreDoubted) {
  for (const char* top : {"x-train", "x-test"}) {
    write_grey(std::string(top) + "/cat/1.pgm", "ab");
    write_grey(std::string(top) + "/dog/1.pgm", "cd");
  }
  EXPECT_THAT(ImageFolder(images.path()).doubts(),
              ElementsAre(HasSubstr("2 folders are taken for classes, although each has `cat`, `dog`")));
}

TEST_F(ImportImages, ImagesOfOneGroupStayInOnePart) {
  for (const char* of_class : {"cat", "dog"}) {
    for (char person = 'a'; person <= 'f'; ++person) {
      for (const char* shot : {"1", "2", "3"})
        write_grey(std::string(of_class) + "/" + person + "/" + person + "_" + shot + ".pgm",
                   std::string(2, person));
    }
  }
  for (const char* by : {"folder", "name"}) {
    const auto set = read({{"group", by}, {"validation", "0.2"}});
    EXPECT_EQ(set->train().groups.size(), set->train().count);
    EXPECT_GT(set->test().count, 0U);
    EXPECT_GT(set->validation().count, 0U);
    const std::string train = text(set->train());
    const std::string others = text(set->test()) + text(set->validation());
    EXPECT_EQ(train.find_first_of(others), std::string::npos) << by;
    EXPECT_EQ(text(set->test()).find_first_of(text(set->validation())), std::string::npos) << by;
  }
  write_grey("cat/loose.pgm", "zz");
  EXPECT_THAT(error({{"group", "folder"}}),
              HasSubstr("cat/loose.pgm: expected a folder below that of its class, named like its group"));
  EXPECT_THAT(error({{"group", "name"}}),
              HasSubstr("cat/loose.pgm: expected a name that begins with its group, up to `_` or `-`"));
}

TEST_F(ImportImages, AGroupInTwoPartsIsRefused) {
  for (const char* place : {"train/cat/ann_1.pgm", "train/dog/bob_1.pgm", "test/cat/cy_1.pgm"})
    write_grey(place, "ab");
  EXPECT_EQ(read({{"group", "name"}})->test().count, 1U);
  write_grey("test/dog/ann_2.pgm", "cd");
  EXPECT_THAT(error({{"group", "name"}}),
              HasSubstr("test/dog/ann_2.pgm: its group `ann` is in the train set, too"));
}

TEST_F(ImportImages, AClassMayBeCalledTrainWithAWord) {
  write_grey("train/1.pgm", "ab");
  write_grey("test tube/1.pgm", "cd");
  EXPECT_THAT(read()->class_names(), ElementsAre("test tube", "train"));
  EXPECT_THAT(
      ImageFolder(images.path()).doubts(),
      ElementsAre(HasSubstr("train: taken for a class, although it is named like a part of the set")));
}

TEST_F(ImportImages, AFolderAroundTheClassesIsNamed) {
  write_grey("photos/cat/1.pgm", "ab");
  write_grey("photos/dog/1.pgm", "ab");
  EXPECT_EQ(error(),
            images.path().string() +
                ": expected a folder of images for each of at least 2 classes, or the folders train, val "
                "and test with such, got 1: did you mean " +
                (images / "photos").string() + "?");
}

TEST_F(ImportImages, AClassWhoseNameIsNotUtf8IsNamedByItsFolder) {
  write_grey("caf\xe9/1.pgm", "ab");
  write_grey("tea/1.pgm", "ab");
  EXPECT_EQ(error(),
            (images / "caf\xe9").string() +
                ": expected a class's name in UTF-8 and without control characters: rename the folder");
}

TEST_F(ImportImages, OtherFilesAreCountedApartFromDamagedImages) {
  for (const char* name : {"a/1", "b/1"}) {
    write(std::string(name) + ".png", png_file(make_image(1, 9, 9, 1)));
    write(std::string(name) + ".xml", "<annotation/>");
    write(std::string(name) + "BMP.PNG", std::string("BM\x46\0\0\0\0\0\0\0\x36", 11));
  }
  EXPECT_EQ(read({{"test", "0"}, {"skip", "0"}})->train().count, 2U);
  write("a/text.png", "no image");
  EXPECT_THAT(error({{"skip", "0"}}), HasSubstr("a/text.png: not a PNG, JPEG"));
  ::testing::internal::CaptureStderr();
  read({{"test", "0"}});
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, AllOf(HasSubstr("files that are no images are not read: 2 .xml"),
                          HasSubstr("left out, since they are not read: 2 BMP; three lines of Python")));
  EXPECT_THAT(told, HasSubstr("left out: " + (images / "a/text.png").string() + ": not a PNG"));
}

TEST_F(ImportImages, RowsForPredictionsNameTheirFilesAndKeepWhatCannotBeRead) {
  write_grey("new/b.pgm", "ab");
  write("new/a.png", "damaged");
  write("new/c.txt", "text");
  write("new/d.gif", "GIF89a");
  write_grey("one.pgm", "cd");
  DatasetWriter writer(out / "set.h5");
  SourceRows rows;
  find_importer("images")->import({.paths = {images / "new", images / "one.pgm"},
                                   .options = ConfigNode::make_map({}, {}),
                                   .has_targets = false,
                                   .shape = space::Shape{1, 1, 2},
                                   .rows = &rows},
                                  writer);
  writer.finish();
  EXPECT_EQ(text(Dataset::open(out / "set.h5", true)->train()), "abcd");
  std::vector<std::string> told;
  for (const SourceRows::Row& row : rows.rows) told.push_back(row.name + ": " + row.problem);
  EXPECT_THAT(told,
              ElementsAre((images / "new/a.png").string() + ": not a PNG, JPEG, WebP, PBM, PGM or PPM image",
                          (images / "new/b.pgm").string() + ": ",
                          (images / "new/d.gif").string() + ": a GIF file, which is not read",
                          (images / "one.pgm").string() + ": "));
  EXPECT_EQ(rows.title, "file");
}

TEST_F(ImportImages, FilesOfAllFormatsGiveTheSamePixelsOnAnyNumberOfThreads) {
  for (unsigned i = 0; i < 150; ++i) {
    const Image image = make_image(3, 5, 4, i);
    const std::string name = std::to_string(1000 + i);
    write("train/png/" + name, png_file(image));
    write("train/ppm/" + name, pnm_file(image));
    write("train/webp/" + name, webp_file(image));
  }
  std::string expected;
  for (unsigned i = 0; i < 150; ++i) {
    std::string planes(60, '\0');
    make_image(3, 5, 4, i).copy_planes(reinterpret_cast<std::uint8_t*>(planes.data()));
    expected += planes;
  }
  for (const std::size_t threads : {1U, 2U, 5U}) {
    const auto set = read({{"test", "0"}}, threads);
    EXPECT_EQ(set->shape(), (space::Shape{3, 5, 4}));
    EXPECT_EQ(text(set->train()), expected + expected + expected) << threads;
  }
}

TEST_F(ImportImages, GreyStaysGreyUnlessThereAreColours) {
  write("a/1.png", png_file({1, 1, 2, {7, 8}}));
  write("b/1.png", png_file({1, 1, 2, {9, 10}}));
  EXPECT_EQ(read()->shape().channels, 1);
  write("b/2.png", png_file({3, 1, 2, {1, 2, 3, 4, 5, 6}}));
  const auto set = read();
  EXPECT_EQ(set->shape().channels, 3);
  EXPECT_THAT(set->train().pixels().first(12), ElementsAre(7, 8, 7, 8, 7, 8, 9, 10, 9, 10, 9, 10));
}

TEST_F(ImportImages, SamplesForAModelMayBeSingleFilesAndHaveItsChannels) {
  write_grey("new/a.pgm", "ab");
  write_grey("b.pgm", "cd");
  DatasetWriter writer(out / "set.h5");
  find_importer("images")->import({.paths = {images / "b.pgm", images / "new"},
                                   .options = ConfigNode::make_map({}, {}),
                                   .has_targets = false,
                                   .shape = space::Shape{3, 1, 2}},
                                  writer);
  writer.finish();
  const auto set = Dataset::open(out / "set.h5", true);
  EXPECT_EQ(set->shape(), (space::Shape{3, 1, 2}));
  EXPECT_EQ(text(set->train()), "cdcdcdababab");
}

TEST_F(ImportImages, SamplesForAModelOfGreyImagesLoseTheirColours) {
  write_grey("a.pgm", "ab");
  write("b.png", png_file({3, 1, 2, {255, 0, 0, 0, 255, 0}}));
  DatasetWriter writer(out / "set.h5");
  find_importer("images")->import({.paths = {images.path()},
                                   .options = ConfigNode::make_map({}, {}),
                                   .has_targets = false,
                                   .shape = space::Shape{1, 1, 2}},
                                  writer);
  writer.finish();
  const auto set = Dataset::open(out / "set.h5", true);
  EXPECT_THAT(set->train().pixels(), ElementsAre('a', 'b', 76, 150));
}

TEST_F(ImportImages, ImagesOfSeveralSizesNeedASize) {
  write("a/1.png", png_file(make_image(1, 8, 8, 1)));
  write("b/2.png", png_file(make_image(1, 6, 9, 2)));
  EXPECT_THAT(error(), AllOf(HasSubstr("b/2.png: 6 x 9 pixels, and "),
                             HasSubstr("a/1.png has 8 x 8: make them one size")));
  for (const char* fit : {"resize", "crop"}) {
    const auto set = read({{"size", "4x5"}, {"fit", fit}});
    EXPECT_EQ(set->shape(), (space::Shape{1, 4, 5}));
    const Image first =
        resized(make_image(1, 8, 8, 1), 4, 5, fit == std::string("crop") ? Fit::kCrop : Fit::kResize);
    EXPECT_THAT(set->train().pixels().first(20), ::testing::ElementsAreArray(first.pixels));
  }
  for (const char* size : {"0", "4x", "x4", "99999", "4x5x6", "big"}) {
    EXPECT_THAT(error({{"size", size}}), HasSubstr("a number of pixels, HEIGHTxWIDTH, or auto")) << size;
  }
}

TEST_F(ImportImages, JpegFilesThatLieOnTheirSideStandUp) {
  const std::string jpeg = jpeg_file(make_image(1, 8, 16, 1));
  const std::string exif(
      "\xff\xe1\0\x22"
      "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0",
      36);
  write("a/1.jpg", jpeg.substr(0, 2) + exif + jpeg.substr(2));
  write("b/1.pgm", pnm_file(make_image(1, 16, 8, 2)));
  EXPECT_EQ(read()->shape(), (space::Shape{1, 16, 8}));
}

TEST_F(ImportImages, FilesThatAreNoImagesAreLeftOutUpToABound) {
  const std::string png = png_file(make_image(1, 9, 9, 1));
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) write(name, png);
  write("a/text.png", "not an image");
  write("a/cut.png", png.substr(0, png.size() - 40));
  std::string damaged = png;
  damaged[50] = static_cast<char>(damaged[50] ^ 1);
  write("b/damaged.png", damaged);
  EXPECT_EQ(read()->train().count, 4U);
  EXPECT_EQ(read({{"skip", "3"}})->train().count, 4U);
  EXPECT_THAT(error({{"skip", "2"}}),
              AllOf(HasSubstr(images.path().string() + ": more than 2 files cannot be read as images "),
                    HasSubstr(" (--skip=N allows N), "), HasSubstr("b/damaged.png: damaged PNG: ")));
  EXPECT_EQ(out.num_entries(), 1U) << "the set of before, and no temporary";
}

TEST_F(ImportImages, MemoryDoesNotGrowWithTheNumberOfSamples) {
  const auto peak_kb = [] {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto make = [&](std::size_t copies) {
    DatasetWriter writer(out / "large.h5");
    writer.describe({{3, 64, 64}, {"a", "b"}, "made for a test", 255});
    const std::vector<std::uint8_t> pixels(std::size_t{64} * 3 * 64 * 64);
    const std::vector<std::int32_t> classes(64);
    for (std::size_t i = 0; i < copies; ++i)
      writer.append(Part::kTrain, {std::span(pixels), std::span(classes), classes.size()});
    writer.finish();
  };
  make(2);
  const long before = peak_kb();
  make(120);  // 94 MB
  EXPECT_LT(peak_kb() - before, 10'000);
}

TEST_F(ImportImages, AnEmptyClassIsRefused) {
  write_grey("a/1.pgm", "ab");
  EXPECT_THAT(error(), HasSubstr("expected a folder of images for each of at least 2 classes"));
  std::filesystem::create_directories(images / "b");
  EXPECT_EQ(error(), (images / "b").string() + ": a class without an image to train on");
  write("b/1.png", png_file(make_image(1, 1, 2, 1)).substr(0, 50));
  EXPECT_EQ(error(), (images / "b").string() + ": a class without an image to train on");
  write("a/1.pgm", "P5\n2 1\n");
  write("b/1.png", "no image");
  EXPECT_THAT(error(), HasSubstr(": no image that can be read: "));
  EXPECT_THAT(user_error_of([&] { prepared("images", {images / "none"}, out / "set.h5"); }),
              HasSubstr("none"));
}

TEST_F(ImportImages, APipeIsLeftOutInsteadOfWaitedFor) {
  write_grey("a/1.pgm", "ab");
  write_grey("b/1.pgm", "ab");
  const std::filesystem::path pipe = images / "b/2.pgm";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read()->train().count, 2U);
  EXPECT_THAT(error({{"skip", "0"}}),
              HasSubstr(pipe.string() + ": expected a file, found a pipe or a device"));
}

}  // namespace
}  // namespace skyline::store

#include "skyline/store/dataset.hpp"

#include "store/fixtures/sample_dataset.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/weights/weights.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using skyline::testing::DatasetContents;
using skyline::testing::overwrite;
using skyline::testing::same_dataset;
using skyline::testing::sample_contents;
using skyline::testing::sample_table;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

class DatasetFile : public ::testing::Test {
 protected:
  void write(const DatasetContents& contents) { write_dataset(path, contents); }
  std::string open_error(bool verify = true) const {
    return user_error_of([&] { Dataset::open(path, verify); });
  }

  /// A file with a right seal, as anybody can make one, of images of 2 channels.
  void write_with_moments(std::size_t means, std::size_t deviations) {
    Hdf5Image image(path, {.user_block = kSealBytes});
    const std::int64_t version = 2;
    const double scale = 255;
    image.write_attribute("/", "version", version);
    image.write_attribute("/", "value_scale", scale);
    image.write_texts("class_names", {"a", "b"});
    for (const auto& [name, count] : {std::pair("mean", means), std::pair("deviation", deviations)}) {
      const hsize_t dims[] = {count};
      image.write_array(name, H5T_NATIVE_DOUBLE, dims, std::string(count * sizeof(double), '\0'));
    }
    for (const std::string part : {"train", "validation", "test"}) {
      image.make_group(part);
      const hsize_t dims[] = {1, 2, 3, 5};
      image.write_array(part + "/values", H5T_STD_U8LE, dims, std::string(30, 'x'));
      image.write_array(part + "/targets", H5T_STD_I32LE, std::span(dims).first(1), std::string(4, '\0'));
    }
    publish_sealed(image, "skyline-dataset");
  }

  ScratchFolder folder;
  std::filesystem::path path = folder / "set.h5";
};

TEST_F(DatasetFile, MapsWhatWasWritten) {
  const DatasetContents contents = sample_contents();
  write(contents);
  for (const bool verify : {false, true}) EXPECT_TRUE(same_dataset(*Dataset::open(path, verify), contents));
}

TEST_F(DatasetFile, HasMomentsOfTheTrainingSetAlone) {
  DatasetContents contents = sample_contents();
  contents.value_scale = 200;
  write(contents);
  const auto dataset = Dataset::open(path, true);
  for (std::size_t channel = 0; channel < 2; ++channel) {
    std::vector<double> pixels;
    for (std::size_t image = 0; image < 30; ++image) {
      for (std::size_t i = 0; i < 15; ++i) {
        pixels.push_back(contents.train.pixels()[(image * 2 + channel) * 15 + i] / 200.0);
      }
    }
    double mean = 0;
    for (const double pixel : pixels) mean += pixel / static_cast<double>(pixels.size());
    double variance = 0;
    for (const double pixel : pixels)
      variance += (pixel - mean) * (pixel - mean) / static_cast<double>(pixels.size());
    EXPECT_NEAR(dataset->mean()[channel], mean, 1e-12);
    EXPECT_NEAR(dataset->deviation()[channel], std::sqrt(variance), 1e-12);
  }
}

TEST_F(DatasetFile, AConstantChannelHasDeviationOne) {
  DatasetContents contents = sample_contents();
  std::fill(contents.train.pixels().begin(), contents.train.pixels().end(), std::uint8_t{9});
  write(contents);
  EXPECT_EQ(Dataset::open(path, true)->deviation(), (std::vector<double>{1, 1}));
}

TEST_F(DatasetFile, MapsNumbersAndTargetsOfEveryKind) {
  for (const TargetKind kind : {TargetKind::kClasses, TargetKind::kLabels, TargetKind::kNumbers}) {
    const DatasetContents contents = sample_table(kind);
    write(contents);
    const auto dataset = Dataset::open(path, true);
    EXPECT_TRUE(same_dataset(*dataset, contents)) << to_text(kind);
    EXPECT_EQ(dataset->train().target_kind(), kind);
    EXPECT_EQ(dataset->test().target_kind(), kind);
    EXPECT_FALSE(dataset->train().has_pixels());
    EXPECT_EQ(dataset->validation().count, 3u);
    EXPECT_EQ(dataset->value_scale(), 1);
  }
}

TEST_F(DatasetFile, HasMomentsOfNumbersThatDoNotSufferFromALargeOffset) {
  DatasetContents contents = sample_table(TargetKind::kNumbers);
  auto& values = std::get<std::vector<float>>(contents.train.values);
  double mean = 0;
  for (std::size_t i = 0; i < values.size(); i += 4) {
    values[i] = 4096 + static_cast<float>(i);
    values[i + 1] = 0.1F;
    mean += static_cast<double>(values[i]) / 20;
  }
  write(contents);
  const auto dataset = Dataset::open(path, true);
  EXPECT_NEAR(dataset->mean()[0], mean, 1e-9);
  EXPECT_NEAR(dataset->deviation()[0], 4 * std::sqrt((400 - 1) / 12.0), 1e-9);
  EXPECT_EQ(dataset->mean()[1], static_cast<double>(0.1F));
  EXPECT_EQ(dataset->deviation()[1], 1);
}

/// Another program may write a right seal around wrong values.
TEST_F(DatasetFile, FindsANumberThatIsNotFiniteWhenItIsVerified) {
  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "version", std::int64_t{2});
  image.write_attribute("/", "value_scale", 1.0);
  image.write_texts("class_names", {"a"});
  const hsize_t one[] = {1};
  for (const char* name : {"mean", "deviation"}) {
    image.write_array(name, H5T_NATIVE_DOUBLE, one, std::string(sizeof(double), '\0'));
  }
  const std::string nan = "\xff\xff\xff\x7f";
  for (const std::string part : {"train", "validation", "test"}) {
    image.make_group(part);
    const hsize_t dims[] = {1, 1, 1, 1};
    image.write_array(part + "/values", H5T_IEEE_F32LE, dims, nan);
    image.write_array(part + "/targets", H5T_IEEE_F32LE, std::span(dims).first(2), std::string(4, '\0'));
  }
  publish_sealed(image, "skyline-dataset");
  EXPECT_EQ(open_error(), path.string() + ": train value number 0: expected a finite number, got nan");
}

TEST_F(DatasetFile, MayHaveNoTestSet) {
  DatasetContents contents = sample_contents();
  contents.test = {};
  write(contents);
  const auto dataset = Dataset::open(path, true);
  EXPECT_EQ(dataset->test().count, 0u);
  EXPECT_TRUE(same_dataset(*dataset, contents));
}

TEST_F(DatasetFile, MayHaveArraysOfOddSizes) {
  for (std::size_t count = 1; count < 8; ++count) {
    DatasetContents contents = sample_contents();
    contents.shape = {1, 3, 3};
    contents.train = skyline::testing::sample_images(count, contents.shape, 5);
    contents.test = skyline::testing::sample_images(8 - count, contents.shape, 6);
    write(contents);
    EXPECT_TRUE(same_dataset(*Dataset::open(path, true), contents)) << count;
  }
}

TEST_F(DatasetFile, EqualContentsAreEqualFiles) {
  write(sample_contents());
  const std::string first = read_file(path);
  write(sample_contents());
  EXPECT_EQ(read_file(path), first);
}

TEST_F(DatasetFile, TheContentHashTellsContentsApart) {
  DatasetContents contents = sample_contents();
  write(contents);
  const auto dataset = Dataset::open(path, false);
  EXPECT_EQ(dataset->content_hash().size(), 64u);
  EXPECT_EQ(Dataset::open(path, true)->content_hash(), dataset->content_hash());
  contents.train.classes()[4] = 0;
  write(contents);
  EXPECT_NE(Dataset::open(path, true)->content_hash(), dataset->content_hash());
}

TEST_F(DatasetFile, StaysValidWhenANewOneIsPublishedInItsPlace) {
  const DatasetContents contents = sample_contents();
  write(contents);
  const auto dataset = Dataset::open(path, true);
  DatasetContents other = contents;
  std::fill(other.train.pixels().begin(), other.train.pixels().end(), std::uint8_t{0});
  write(other);
  EXPECT_TRUE(same_dataset(*dataset, contents));
  EXPECT_TRUE(same_dataset(*Dataset::open(path, true), other));
}

TEST_F(DatasetFile, SeesThatSomebodyHasOverwrittenItInPlaceAndNotThatSomebodyHasTouchedIt) {
  DatasetContents contents = sample_contents();
  write(contents);
  const auto dataset = Dataset::open(path, true);
  dataset->check_unchanged();
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  dataset->check_unchanged();

  contents.train.pixels()[3] ^= 1;
  contents.train.classes()[4] = 0;
  const std::filesystem::path other = path.string() + ".other";
  write_dataset(other, contents);
  const std::string bytes = read_file(other);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(user_error_of([&] { dataset->check_unchanged(); }),
              path.string() + ": was overwritten during the run: restore it, and run again with --resume");
  }
  EXPECT_TRUE(std::ranges::equal(dataset->train().classes(), sample_contents().train.classes()));
}

TEST_F(DatasetFile, EndsAProcessThatReadsAnImageWhichWasCutOffWithOneLine) {
  DatasetContents contents = sample_contents();
  contents.test = skyline::testing::sample_images(5000, contents.shape, 6);
  write(contents);
  const auto dataset = Dataset::open(path, false);
  std::filesystem::resize_file(path, 4096);
  EXPECT_EQ(user_error_of([&] { dataset->check_unchanged(); }),
            path.string() + ": was overwritten during the run: restore it, and run again with --resume");
  EXPECT_EXIT(std::exit(dataset->test().pixels().back() == 255 ? 1 : 0), ::testing::ExitedWithCode(2),
              "^skyline: " + path.string() +
                  ": was cut short while it was read: restore it, and run again with --resume\n$");
}

TEST_F(DatasetFile, IsMissing) {
  EXPECT_EQ(open_error(), "cannot read " + path.string() + ": No such file or directory");
}

TEST_F(DatasetFile, IsTruncated) {
  write(sample_contents());
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 10);
  EXPECT_EQ(open_error(false), path.string() + ": truncated: expected " + std::to_string(size) +
                                   " bytes, got " + std::to_string(size - 10) +
                                   " (copy or make the file again)");
  std::filesystem::resize_file(path, 300);
  EXPECT_EQ(open_error(false), path.string() + ": truncated");
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(open_error(false), path.string() + ": the file is empty");
}

TEST_F(DatasetFile, IsNotHdf5) {
  overwrite(path, "pixels,label\n1,2\n");
  EXPECT_EQ(open_error(),
            path.string() + ": not an HDF5 file, expected a Skyline data set (skyline prep makes one)");
}

TEST_F(DatasetFile, IsHdf5ButNotOurs) {
  Hdf5Image image(path, {});
  image.write_texts("names", {"somebody's"});
  publish(path, [&](TemporaryFile& file) { return file.write(image.finish(), 0); });
  EXPECT_EQ(open_error(), path.string() +
                              ": this HDF5 file was not written by Skyline, expected a Skyline data set "
                              "(skyline prep makes one)");
}

TEST_F(DatasetFile, IsOursButNoDataSet) {
  write_weights(path, {});
  EXPECT_EQ(open_error(),
            path.string() + ": this is a skyline-weights file, expected a skyline-dataset file");
}

TEST_F(DatasetFile, IsSealedInAnotherVersion) {
  write(sample_contents());
  std::string bytes = read_file(path);
  bytes[bytes.find("sealed ") + 7] = '2';
  overwrite(path, bytes);
  EXPECT_EQ(open_error(false),
            path.string() + ": sealed in version 2, this program reads version 3 (make the file again)");
}

TEST_F(DatasetFile, IsDamagedInAnArray) {
  const DatasetContents contents = sample_contents();
  write(contents);
  std::string bytes = read_file(path);
  const std::string images(contents.train.pixels().begin(), contents.train.pixels().end());
  const std::size_t place = bytes.find(images);
  ASSERT_NE(place, std::string::npos);
  bytes[place + 100] ^= 4;
  overwrite(path, bytes);
  EXPECT_EQ(
      open_error(true),
      path.string() + ": damaged: the checksum of train/values does not match (copy or make the file again)");
  EXPECT_EQ(open_error(false), "(nothing was thrown)");
  const auto not_stopped = [] { return false; };
  EXPECT_EQ(user_error_of([&] { Dataset::open(path, false)->verify(not_stopped); }), open_error(true));
}

TEST_F(DatasetFile, IsDamagedInItsStructure) {
  write(sample_contents());
  std::string bytes = read_file(path);
  bytes[1024 + 9] ^= 1;
  overwrite(path, bytes);
  EXPECT_EQ(open_error(false), path.string() +
                                   ": damaged: its checksum does not match (copy or make "
                                   "the file again)");
  write(sample_contents());
  bytes = read_file(path);
  bytes[bytes.find("bytes ") + 6] ^= 1;
  overwrite(path, bytes);
  EXPECT_EQ(open_error(false), path.string() + ": damaged: the seal at its start does not match");
}

TEST_F(DatasetFile, RefusesMomentsThatAreNotOneForEachChannel) {
  write_with_moments(3, 2);
  EXPECT_EQ(open_error(), path.string() + ": mean: expected a value for each of 2 channels, got 3");
  write_with_moments(2, 1);
  EXPECT_EQ(open_error(), path.string() + ": deviation: expected a value for each of 2 channels, got 1");
}

TEST_F(DatasetFile, RefusesAPipeInsteadOfWaitingForWhoeverWritesToIt) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(open_error(), path.string() + ": expected a file, found a pipe or a device");
}

TEST_F(DatasetFile, ACheckStopsWhenAskedToAndOpeningWithoutOneDoesNotAsk) {
  write(sample_contents());
  const auto stop = [] { return true; };
  EXPECT_EQ(Dataset::open(path, true, stop), nullptr);
  const auto dataset = Dataset::open(path, false, stop);
  ASSERT_NE(dataset, nullptr);
  dataset->verify(stop);
}

}  // namespace
}  // namespace skyline::store

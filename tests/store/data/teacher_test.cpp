#include "store/data/teacher.hpp"

#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"
#include "support/written_dataset.hpp"

#include <fstream>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

/// A data set of 5 samples to train on and 2 for validation, in 3 classes.
class TeacherTest : public ::testing::Test {
 protected:
  TeacherTest() {
    const auto samples = [](std::size_t count, std::uint8_t value) {
      return Samples{.values = std::vector<std::uint8_t>(4 * count, value),
                     .targets = std::vector<std::int32_t>(count, 1)};
    };
    skyline::testing::write_dataset(folder / "set.h5", {.shape = {1, 2, 2},
                                                        .class_names = {"a", "b", "c"},
                                                        .train = samples(5, 1),
                                                        .validation = samples(2, 2)});
    data = Dataset::open(folder / "set.h5", true);
  }

  std::string refusal(std::uint64_t rows, std::uint64_t outputs, const std::string& hash) const {
    const std::vector<float> values(rows * outputs);
    write_teacher(file, {hash, "a network", rows, outputs, values});
    return user_error_of([&] { Teacher::open(file, true)->check_data(*data); });
  }

  ScratchFolder folder;
  std::filesystem::path file = folder / "teacher.h5";
  std::shared_ptr<const Dataset> data;
};

TEST_F(TeacherTest, AFileHasTheOutputsForItsData) {
  std::vector<float> values(21);
  std::iota(values.begin(), values.end(), -4.5F);
  write_teacher(file, {data->content_hash(), "a network", 7, 3, values});
  const auto teacher = Teacher::open(file, true);
  teacher->check_data(*data);
  EXPECT_EQ(teacher->contents().rows, 7U);
  EXPECT_EQ(teacher->contents().outputs, 3U);
  EXPECT_EQ(teacher->contents().source, "a network");
  EXPECT_THAT(teacher->contents().values, ElementsAreArray(values));
  const std::string hash = teacher->content_hash();
  values[20] = 0;
  write_teacher(file, {data->content_hash(), "a network", 7, 3, values});
  EXPECT_NE(Teacher::open(file, true)->content_hash(), hash);
}

TEST_F(TeacherTest, AFileThatIsOverwrittenWhileItIsUsedIsNoticed) {
  write_teacher(file, {data->content_hash(), "a network", 7, 3, std::vector<float>(21, 1)});
  const auto teacher = Teacher::open(file, true);
  teacher->check_unchanged();
  write_teacher(folder / "other.h5", {data->content_hash(), "a network", 7, 3, std::vector<float>(21, 2)});
  std::ifstream other(folder / "other.h5", std::ios::binary);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << other.rdbuf();
  EXPECT_THAT(user_error_of([&] { teacher->check_unchanged(); }),
              HasSubstr("teacher.h5: was overwritten during the run"));
}

TEST_F(TeacherTest, OtherSizesAndOtherDataAreRefusedWithBothNumbers) {
  EXPECT_THAT(refusal(7, 4, data->content_hash()),
              HasSubstr("has 4 outputs for a sample, expected 3 classes"));
  EXPECT_THAT(refusal(5, 3, data->content_hash()), HasSubstr("is of 5 samples, expected 7"));
  EXPECT_THAT(
      refusal(7, 3, "0123"),
      HasSubstr("teacher.h5: is of other data: their checksum is 0123, expected " + data->content_hash()));
}

TEST_F(TeacherTest, OutputsWithOtherSizesThanTheSealSaysAreRefused) {
  const std::vector<float> values(21);
  const auto refusal_of = [&](const std::vector<hsize_t>& dims, std::size_t sealed) {
    Hdf5Image image(file, {.user_block = kSealBytes});
    image.write_attribute("/", "format", "skyline-teacher");
    image.write_attribute("/", "version", std::int64_t{1});
    image.refer_array("outputs", H5T_IEEE_F32LE, dims, std::as_bytes(std::span(values)));
    publish_sealed(image, "skyline-teacher",
                   {{"outputs", image.array_offset("outputs"), sealed * sizeof(float), {}}});
    return user_error_of([&] { Teacher::open(file, true); });
  };
  EXPECT_THAT(refusal_of({21}, 21), HasSubstr("teacher.h5: outputs: not where the file says that they are"));
  EXPECT_THAT(refusal_of({7, 3}, 20), HasSubstr("outputs: not where the file says"));
}

TEST_F(TeacherTest, OutputsThatAreNoNumbersOrWereDamagedAreRefused) {
  std::vector<float> values(21, 1.0F);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  write_teacher(file, {data->content_hash(), "a network", 7, 3, values});
  EXPECT_THAT(user_error_of([&] { Teacher::open(file, true); }),
              HasSubstr("the output for sample 2 (from 0)"));
  values[7] = 1;
  write_teacher(file, {data->content_hash(), "a network", 7, 3, values});
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('x');
  EXPECT_THAT(user_error_of([&] { Teacher::open(file, true); }), HasSubstr("damaged"));
  EXPECT_THAT(user_error_of([&] { Teacher::open(folder / "set.h5", true); }),
              HasSubstr("this is a skyline-dataset file, expected a skyline-teacher file"));
}

}  // namespace
}  // namespace skyline::store

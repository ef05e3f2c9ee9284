#include "store/weights/weights.hpp"

#include "skyline/core/error.hpp"

#include "store/fixtures/sample_weights.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/publish/publish.hpp"
#include "support/file_size_limit.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <cerrno>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::overwrite;
using skyline::testing::same_weights;
using skyline::testing::sample_weights;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

class Weights : public ::testing::Test {
 protected:
  std::string read_error() const {
    return user_error_of([&] { read_weights(path); });
  }

  ScratchFolder folder;
  std::filesystem::path path = folder / "id.h5";
};

TEST_F(Weights, ReadBackInOrderAndBitByBit) {
  write_weights(path, sample_weights());
  EXPECT_TRUE(same_weights(read_weights(path), sample_weights()));
}

TEST_F(Weights, MayBeEmpty) {
  write_weights(path, {});
  EXPECT_TRUE(same_weights(read_weights(path), {}));
}

TEST_F(Weights, AreRemovedWithTheAnswersOfTheirTraining) {
  const RunPaths paths{folder / "run"};
  std::filesystem::create_directories(paths.weights_folder());
  for (const trial::TrialName name : {trial::TrialName{1}, {1, true}, {2, true}}) {
    write_weights(paths.weights(name), sample_weights());
    if (name.is_final) publish_file(paths.answers(name), "{}");
  }
  remove_weights(paths, {2, true});
  remove_unwanted_weights(paths, {{1, true}, {3, true}});
  EXPECT_EQ(list_folder(paths.weights_folder()), std::vector{paths.weights({1})});
}

TEST_F(Weights, EqualOnesAreEqualFiles) {
  write_weights(path, sample_weights());
  const std::string first = read_file(path);
  write_weights(path, sample_weights());
  EXPECT_EQ(read_file(path), first);
}

TEST_F(Weights, NamesWithoutALayerAreOurOwnMistake) {
  WeightsFile weights;
  weights.tensors = {{"weight", {1}, {1}}};
  EXPECT_THROW(write_weights(path, weights), InternalError);
  weights.tensors = {{"conv2d_0.weight", {2, 3}, {1}}};
  EXPECT_THROW(write_weights(path, weights), InternalError);
}

TEST_F(Weights, AreMissingTruncatedDamagedOrNotOurs) {
  EXPECT_EQ(read_error(), "cannot read " + path.string() + ": No such file or directory");
  write_weights(path, sample_weights());
  const std::string bytes = read_file(path);
  overwrite(path, bytes.substr(0, 2000));
  EXPECT_EQ(read_error(), path.string() + ": truncated: expected " + std::to_string(bytes.size()) +
                              " bytes, got 2000 (copy or make the file again)");
  overwrite(path, bytes + "x");
  EXPECT_EQ(read_error(), path.string() + ": too long: expected " + std::to_string(bytes.size()) +
                              " bytes, got " + std::to_string(bytes.size() + 1) +
                              " (copy or make the file again)");
  std::string damaged = bytes;
  damaged[damaged.size() - 100] ^= 1;
  overwrite(path, damaged);
  EXPECT_EQ(read_error(), path.string() +
                              ": damaged: its checksum does not match (copy or make the "
                              "file again)");
  overwrite(path, "PK\x03\x04 a zip file, say");
  EXPECT_EQ(read_error(), path.string() + ": not an HDF5 file, expected a Skyline weights file");
  overwrite(path, bytes.substr(1024));
  EXPECT_EQ(read_error(),
            path.string() + ": this HDF5 file was not written by Skyline, expected a Skyline weights file");
}

TEST_F(Weights, ThatDoNotShowYetMayShowLater) {
  const WeightsReading missing = try_weights(path, 41);
  EXPECT_EQ(missing.weights, nullptr);
  EXPECT_EQ(missing.problem, path.string() + ": there is no such file");
  EXPECT_TRUE(missing.is_transient);

  WeightsFile weights = sample_weights();
  weights.trial = 7;
  write_weights(path, weights);  // the file that had the name before
  const WeightsReading older = try_weights(path, 41);
  EXPECT_EQ(older.weights, nullptr);
  EXPECT_EQ(older.problem, path.string() + ": expected the weights of trial 41, got those of trial 7");
  EXPECT_TRUE(older.is_transient);

  write_weights(path, sample_weights());
  EXPECT_TRUE(same_weights(*try_weights(path, 41).weights, sample_weights()));
}

TEST_F(Weights, ThatAreDamagedDoNotHealByWaiting) {
  write_weights(path, sample_weights());
  std::string bytes = read_file(path);
  bytes[bytes.size() - 100] ^= 1;
  overwrite(path, bytes);
  const WeightsReading reading = try_weights(path, 41);
  EXPECT_EQ(reading.weights, nullptr);
  EXPECT_THAT(reading.problem, ::testing::HasSubstr(path.string() + ": damaged: "));
  EXPECT_FALSE(reading.is_transient);
}

TEST_F(Weights, OfTheVersionBeforeAreRefusedWithOneLine) {
  constexpr std::int64_t kBefore = 2;
  Hdf5Image image(path, {.user_block = kSealBytes, .num_objects = 8});
  image.write_attribute("/", "format", "skyline-weights");
  image.write_attribute("/", "version", kBefore);
  publish_sealed(image, "skyline-weights");
  EXPECT_EQ(read_error(), path.string() + ": weights file of version 2, this program reads version 5");
}

TEST_F(Weights, OnAFullDiskKeepTheOldFile) {
  write_weights(path, sample_weights());
  WeightsFile large = sample_weights();
  large.tensors.push_back({"big_0.weight", {100000}, std::vector<float>(100000)});
  const skyline::testing::FileSizeLimit limit(20000);
  EXPECT_EQ(fault_error_of([&] { write_weights(path, large); }),
            "cannot write " + path.string() + ": write: " + system_error_text(EFBIG));
  EXPECT_TRUE(same_weights(read_weights(path), sample_weights()));
}

}  // namespace
}  // namespace skyline::store

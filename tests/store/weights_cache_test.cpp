#include "skyline/store/weights_cache.hpp"

#include "skyline/store/patience.hpp"
#include "skyline/store/publish.hpp"

#include "child_process.hpp"
#include "sample_weights.hpp"
#include "scratch_folder.hpp"
#include "short_patience.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::same_weights;
using skyline::testing::sample_weights;
using skyline::testing::ScratchFolder;
using skyline::testing::ShortPatience;
using skyline::testing::user_error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kAmple = std::size_t{1} << 30;

class Cache : public ::testing::Test {
 protected:
  /// Publishes weights/<id>.h5 of that trial.
  std::filesystem::path write(const std::string& id, objective::TrialNumber trial) const {
    WeightsFile weights = sample_weights();
    weights.trial = trial;
    write_weights(shared / (id + ".h5"), weights);
    return shared / (id + ".h5");
  }
  std::vector<std::filesystem::path> copies() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(local)) paths.push_back(entry.path());
    return paths;
  }
  /// What a reading of the file writes to the log.
  std::string log_of_read(WeightsCache& cache, const std::filesystem::path& path,
                          objective::TrialNumber trial) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(cache.read(path, trial)->trial, trial);
    return ::testing::internal::GetCapturedStderr();
  }

  ScratchFolder shared;
  ScratchFolder node;
  std::filesystem::path local = node / "copies";
};

TEST_F(Cache, ReadsWeightsWithAndWithoutCopies) {
  const auto path = write("a", 41);
  WeightsCache cache(local, kAmple);
  EXPECT_TRUE(same_weights(*cache.read(path, 41), sample_weights()));
  EXPECT_TRUE(same_weights(*cache.read(path, 41), sample_weights()));
  EXPECT_TRUE(same_weights(*WeightsCache({}, kAmple).read(path, 41), sample_weights()));
  EXPECT_EQ(copies().size(), 1u);
}

TEST_F(Cache, TakesTheCopyWhenThereIsOne) {
  const auto path = write("a", 41);
  WeightsCache(local, kAmple).read(path, 41);
  // Behind an intact seal the original is gone: only the copy can give these weights.
  const std::string original = read_file(path);
  overwrite(path, original.substr(0, 1024));
  EXPECT_TRUE(same_weights(*WeightsCache(local, kAmple).read(path, 41), sample_weights()));
}

TEST_F(Cache, ADamagedCopyIsPassedOverAndMadeAgain) {
  const auto path = write("a", 41);
  WeightsCache cache(local, kAmple);
  cache.read(path, 41);
  std::string bytes = read_file(copies().at(0));
  const std::string intact = bytes;
  bytes[bytes.size() - 100] ^= 1;
  overwrite(copies().at(0), bytes);
  EXPECT_THAT(log_of_read(cache, path, 41), HasSubstr("; reading the original of this copy"));
  EXPECT_EQ(read_file(copies().at(0)), intact);
  EXPECT_THAT(log_of_read(cache, path, 41), IsEmpty());
}

TEST_F(Cache, ANewFileOfTheSameNameIsNotMistakenForItsCopy) {
  const auto path = write("a", 1);
  WeightsCache cache(local, kAmple);
  cache.read(path, 1);
  write("a", 2);
  EXPECT_EQ(cache.read(path, 2)->trial, 2u);
}

TEST_F(Cache, StaysWithinItsBoundAndDropsTheLeastRecentlyUsed) {
  const auto a = write("a", 1);
  const auto size = std::filesystem::file_size(a);
  WeightsCache cache(local, 2 * size);
  cache.read(a, 1);
  const auto copy_of_a = copies().at(0);
  cache.read(write("b", 2), 2);
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  for (const auto& path : copies()) ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  cache.read(a, 1);  // now b is the one that was not used for longest
  cache.read(write("c", 3), 3);
  EXPECT_EQ(copies().size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(copy_of_a));
  WeightsCache(local, size - 1).read(write("d", 4), 4);
  EXPECT_EQ(copies().size(), 2u);  // too large for any room
}

TEST_F(Cache, ThatCannotBeUsedCostsNoResult) {
  const auto path = write("a", 41);
  overwrite(local, "a file in the place of the folder");
  ::testing::internal::CaptureStderr();
  WeightsCache cache(local, kAmple);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("no node-local copies of weights: "));
  EXPECT_THAT(log_of_read(cache, path, 41), IsEmpty());

  std::filesystem::remove(local);
  WeightsCache other(local, kAmple);
  std::filesystem::remove(local);
  EXPECT_THAT(log_of_read(other, path, 41), HasSubstr("no node-local copies of weights: "));
  EXPECT_THAT(log_of_read(other, path, 41), IsEmpty());
}

TEST_F(Cache, WaitsForAFileThatDoesNotShowYet) {
  const ScratchFolder aside;
  write_weights(aside / "a.h5", sample_weights());
  WeightsCache cache(local, kAmple);
  std::thread late([&] {
    // The cache is made and the reader may have looked already; whichever comes first, it must find the file.
    std::filesystem::rename(aside / "a.h5", shared / "a.h5");
  });
  EXPECT_EQ(cache.read(shared / "a.h5", 41)->trial, 41u);
  late.join();
}

TEST_F(Cache, SaysWhenAFileNeverShows) {
  const ShortPatience patience(0.05);
  WeightsCache cache(local, kAmple);
  EXPECT_EQ(user_error_of([&] { cache.read(shared / "a.h5", 41); }),
            "cannot read " + (shared / "a.h5").string() + ": there is no such file after 0 s of waiting");
  const auto path = write("a", 7);
  EXPECT_EQ(user_error_of([&] { cache.read(path, 41); }),
            path.string() + ": expected the weights of trial 41, got those of trial 7 after 0 s of waiting");
}

TEST_F(Cache, ADamagedOriginalIsAnErrorAtOnce) {
  const auto path = write("a", 41);
  std::string bytes = read_file(path);
  bytes[bytes.size() - 100] ^= 1;
  overwrite(path, bytes);
  EXPECT_THAT(user_error_of([&] { WeightsCache(local, kAmple).read(path, 41); }),
              HasSubstr(path.string() + ": damaged: "));
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(Cache, SeveralProcessesOfANodeShareTheFolder) {
  std::vector<std::filesystem::path> paths;
  for (objective::TrialNumber trial = 0; trial < 8; ++trial)
    paths.push_back(write(std::to_string(trial), trial));
  const std::size_t room = 3 * std::filesystem::file_size(paths[0]);
  std::vector<pid_t> children(4);
  for (std::size_t child = 0; child < children.size(); ++child) {
    children[child] = skyline::testing::start_child([&] {
      WeightsCache cache(local, room);
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t trial = (i * (child + 1)) % paths.size();
        if (cache.read(paths[trial], trial)->trial != trial) ::_exit(1);
      }
    });
  }
  for (const pid_t child : children) EXPECT_EQ(skyline::testing::wait_for_child(child), 0);
  EXPECT_LE(copies().size(), 3u + children.size());
}

}  // namespace
}  // namespace skyline::store

#include "store/weights/weights_cache.hpp"

#include "store/fixtures/child_process.hpp"
#include "store/fixtures/faulty_calls.hpp"
#include "store/fixtures/sample_weights.hpp"
#include "store/fixtures/scratch_folder.hpp"
#include "store/publish/publish.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::same_weights;
using skyline::testing::sample_weights;
using skyline::testing::ScratchFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kAmple = std::size_t{1} << 30;

class Cache : public ::testing::Test {
 protected:
  /// Publishes weights/<id>.h5 of that trial.
  std::filesystem::path write(const std::string& id, trial::TrialNumber trial) const {
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
  static bool reads(WeightsCache& cache, const std::filesystem::path& path, trial::TrialNumber trial) {
    const WeightsReading reading = cache.read(path, trial);
    return reading.weights && reading.weights->trial == trial;
  }
  /// The log lines of reading the file.
  std::string log_of_read(WeightsCache& cache, const std::filesystem::path& path, trial::TrialNumber trial) {
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(reads(cache, path, trial));
    return ::testing::internal::GetCapturedStderr();
  }

  ScratchFolder shared;
  ScratchFolder node;
  std::filesystem::path local = node / "copies";
};

TEST_F(Cache, ReadsWeightsWithAndWithoutCopies) {
  const auto path = write("a", 41);
  WeightsCache cache(local, kAmple);
  EXPECT_TRUE(same_weights(*cache.read(path, 41).weights, sample_weights()));
  EXPECT_TRUE(same_weights(*cache.read(path, 41).weights, sample_weights()));
  EXPECT_TRUE(same_weights(*WeightsCache({}, kAmple).read(path, 41).weights, sample_weights()));
  EXPECT_EQ(copies().size(), 1u);
}

TEST_F(Cache, TakesTheCopyWhenThereIsOne) {
  const auto path = write("a", 41);
  WeightsCache(local, kAmple).read(path, 41);
  // Behind an intact seal the original is gone: only the copy can give these weights.
  const std::string original = read_file(path);
  overwrite(path, original.substr(0, 1024));
  EXPECT_TRUE(same_weights(*WeightsCache(local, kAmple).read(path, 41).weights, sample_weights()));
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
  EXPECT_TRUE(reads(cache, path, 2));
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

TEST_F(Cache, OnAFullNodeIsTriedOnceAndGivenUp) {
  const auto path = write("a", 41);
  WeightsCache cache(local, kAmple);
  const skyline::testing::FaultyCall full("pwrite", ENOSPC, 1000);
  EXPECT_THAT(log_of_read(cache, path, 41), HasSubstr("no node-local copies of weights: "));
  EXPECT_EQ(full.calls(), 1);
  EXPECT_THAT(log_of_read(cache, path, 41), IsEmpty());
  EXPECT_EQ(full.calls(), 1);
}

TEST_F(Cache, AFileThatDoesNotShowYetMayShowLater) {
  WeightsCache cache(local, kAmple);
  const auto path = shared / "a.h5";
  const WeightsReading missing = cache.read(path, 41);
  EXPECT_EQ(missing.weights, nullptr);
  EXPECT_EQ(missing.problem, path.string() + ": there is no such file");
  EXPECT_TRUE(missing.may_pass);

  write("a", 7);  // the file that had the name before
  const WeightsReading older = cache.read(path, 41);
  EXPECT_EQ(older.weights, nullptr);
  EXPECT_EQ(older.problem, path.string() + ": expected the weights of trial 41, got those of trial 7");
  EXPECT_TRUE(older.may_pass);

  write("a", 41);
  EXPECT_TRUE(reads(cache, path, 41));
}

TEST_F(Cache, ADamagedOriginalDoesNotHealByWaiting) {
  const auto path = write("a", 41);
  std::string bytes = read_file(path);
  bytes[bytes.size() - 100] ^= 1;
  overwrite(path, bytes);
  const WeightsReading reading = WeightsCache(local, kAmple).read(path, 41);
  EXPECT_EQ(reading.weights, nullptr);
  EXPECT_THAT(reading.problem, HasSubstr(path.string() + ": damaged: "));
  EXPECT_FALSE(reading.may_pass);
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(Cache, TheFolderIsForThisUserAlone) {
  const WeightsCache cache(local, kAmple);
  struct stat status {};
  ASSERT_EQ(::lstat(local.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
}

TEST_F(Cache, MakesNoCopiesInAFolderThatSomebodyElseMayUse) {
  const auto path = write("a", 41);
  const auto check = [&](const std::string& reason) {
    ::testing::internal::CaptureStderr();
    WeightsCache cache(local, kAmple);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(local.string() + ": " + reason));
    EXPECT_THAT(log_of_read(cache, path, 41), IsEmpty());
    EXPECT_THAT(copies(), IsEmpty());
    WeightsCache::remove(local);
    EXPECT_TRUE(std::filesystem::exists(local)) << "not ours to remove";
  };
  std::filesystem::create_directory(local);
  std::filesystem::permissions(local, std::filesystem::perms{0770});
  check("others may use it");
  std::filesystem::remove(local);
  const ScratchFolder elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path(), local);
  check("not a folder");
  std::filesystem::remove(local);
  std::filesystem::permissions(local.parent_path(), std::filesystem::perms{0777});
  check("others may put another folder in its place");
}

TEST_F(Cache, MakesNoCopiesInAFolderOfAnotherUser) {
  const auto path = write("a", 41);
  std::filesystem::path foreign = "/usr";  // root's
  if (::geteuid() == 0) {                  // and root can give a folder away
    foreign = local;
    std::filesystem::create_directory(local);
    std::filesystem::permissions(local, std::filesystem::perms{0700});
    ASSERT_EQ(::chown(local.c_str(), 12345, 12345), 0);
  }
  ::testing::internal::CaptureStderr();
  WeightsCache cache(foreign, kAmple);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr(foreign.string() + ": it belongs to another user"));
  EXPECT_THAT(log_of_read(cache, path, 41), IsEmpty());
  for (const auto& entry : std::filesystem::directory_iterator(foreign)) {
    EXPECT_NE(entry.path().extension(), ".h5") << entry.path();
  }
  WeightsCache::remove(foreign);
  EXPECT_TRUE(std::filesystem::exists(foreign)) << "not ours to remove";
}

TEST_F(Cache, IsRemovedWithItsCopies) {
  const auto path = write("a", 41);
  WeightsCache(local, kAmple).read(path, 41);
  WeightsCache::remove(local);
  EXPECT_FALSE(std::filesystem::exists(local));
  WeightsCache::remove(local);
  WeightsCache::remove({});
}

TEST_F(Cache, SeveralProcessesOfANodeShareTheFolder) {
  std::vector<std::filesystem::path> paths;
  for (trial::TrialNumber trial = 0; trial < 8; ++trial) paths.push_back(write(std::to_string(trial), trial));
  const std::size_t room = 3 * std::filesystem::file_size(paths[0]);
  std::vector<pid_t> children(4);
  for (std::size_t child = 0; child < children.size(); ++child) {
    children[child] = skyline::testing::start_child([&] {
      WeightsCache cache(local, room);
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t trial = (i * (child + 1)) % paths.size();
        if (!reads(cache, paths[trial], trial)) ::_exit(1);
      }
    });
  }
  for (const pid_t child : children) EXPECT_EQ(skyline::testing::wait_for_child(child), 0);
  EXPECT_LE(copies().size(), 3u + children.size());
}

}  // namespace
}  // namespace skyline::store

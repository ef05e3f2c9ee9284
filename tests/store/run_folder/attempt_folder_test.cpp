#include "store/run_folder/attempt_folder.hpp"

#include "store/fixtures/faulty_calls.hpp"
#include "support/scratch_folder.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::FaultyCall;
using testing::ScratchFolder;

TEST(AttemptFolder, IsPrivateAndGoesAwayWithAllThatIsInIt) {
  const ScratchFolder run;
  fs::path root;
  fs::path temporary;
  {
    const AttemptFolder attempt(run.path(), {17, true});
    root = attempt.parameters().parent_path();
    temporary = attempt.temporary();
    EXPECT_EQ(root.parent_path(), run / "trainer/attempts");
    EXPECT_EQ(root.filename().string().substr(0, 9), "17.final-");
    for (const fs::path& folder : {root, temporary}) {
      EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
    }
    fs::create_directories(temporary / "a/b");
    fs::create_symlink(run.path(), temporary / "link");
    std::ofstream(temporary / "file") << "x";
  }
  EXPECT_FALSE(fs::exists(root));
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_TRUE(fs::exists(run.path())) << "links are not followed";
}

TEST(AttemptFolder, OfARankThatIsGoneIsRemovedByTheNextJob) {
  const ScratchFolder run;
  const AttemptFolder mine(run.path(), {1, false});
  std::string name = mine.temporary().filename().string();
  name.replace(name.rfind('-') - 1, 1,
               name[name.rfind('-') - 1] == '1' ? "2" : "1");  // the end of its start's time
  const fs::path left = mine.temporary().parent_path() / name;
  fs::create_directory(left);
  remove_temporary_folders();
  EXPECT_FALSE(fs::exists(left)) << "its process started at another time";
  EXPECT_TRUE(fs::exists(mine.temporary()));
  remove_attempts(run.path());
  EXPECT_FALSE(fs::exists(mine.parameters().parent_path()));
}

TEST(LeftLocks, AreRemovedUnlessAProcessHoldsThem) {
  const ScratchFolder cache;
  fs::create_directories(cache / "a");
  fs::create_directories(cache / "b/lock");
  std::ofstream(cache / "a/lock") << "";
  std::ofstream(cache / "a/ops.so") << "";
  const int held = open((cache / "held").c_str(), O_CREAT | O_RDWR, 0600);
  fs::create_hard_link(cache / "held", cache / "b/lock/lock");
  remove_left_locks(cache.path());
  EXPECT_FALSE(fs::exists(cache / "a/lock"));
  EXPECT_TRUE(fs::exists(cache / "a/ops.so"));
  EXPECT_TRUE(fs::exists(cache / "b/lock/lock"));
  close(held);
  remove_left_locks(cache.path());
  EXPECT_FALSE(fs::exists(cache / "b/lock/lock"));
  remove_left_locks(cache / "nowhere");
}

TEST(TrialLogs, KeepAllOfFailedTrialsAndTheNewestOfTheOthers) {
  const ScratchFolder run;
  TrialLogs logs(run.path(), 2);
  const auto write = [&](trial::TrialNumber number, bool failed) {
    const fs::path log = logs.path({number, false}, 0, 1);
    std::ofstream(log) << "x";
    return logs.keep(log, failed);
  };
  EXPECT_EQ(write(0, true), run / "logs/trials/0.failed.log");
  EXPECT_EQ(write(0, true), run / "logs/trials/0.failed2.log");
  for (trial::TrialNumber number = 0; number < 5; ++number) write(number, false);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "logs/trials")) names.insert(entry.path().filename());
  EXPECT_THAT(names, ElementsAre("0.failed.log", "0.failed2.log", "3.log", "4.log"));
  EXPECT_EQ(logs.path({3, true}, 1, 2), run / "logs/trials/3.final.process1.log");
  TrialLogs::prune(run.path(), 1);
  EXPECT_FALSE(fs::exists(run / "logs/trials/3.log"));
  EXPECT_TRUE(fs::exists(run / "logs/trials/4.log"));
  EXPECT_TRUE(fs::exists(run / "logs/trials/0.failed.log"));
}

}  // namespace
}  // namespace skyline::store

#include "store/run_folder/running_trials.hpp"

#include "core/backoff.hpp"
#include "core/system/process.hpp"
#include "store/publish/publish.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"
#include "trial/refit.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class Running : public ::testing::Test {
 protected:
  /// The counter's file.
  std::filesystem::path count_oom_kills(int kills) {
    overwrite(counter, "low 0\noom 2\noom_kill " + std::to_string(kills) + "\n");
    return counter;
  }
  static RunPaths made(const std::filesystem::path& root) {
    std::filesystem::create_directories(RunPaths{root}.checkpoints());
    return {root};
  }
  LeftTrials left() {
    const std::vector<LeftTrials> all = read_running_trials(paths);
    return all.size() == 1 ? all.front() : LeftTrials{};
  }
  /// "0.final advanced", "3 running 11"
  std::vector<std::string> rows() {
    std::vector<std::string> texts;
    for (const LeftTrials::Row& row : left().rows) {
      texts.push_back(to_text(row.trial) + (row.advanced ? " advanced" : " running") +
                      (row.signal == 0 ? "" : " " + std::to_string(row.signal)));
    }
    return texts;
  }

  ScratchFolder folder;
  RunPaths paths = made(folder / "run");
  std::filesystem::path made_counter() const {
    std::filesystem::create_directories(folder / "sys/fs/cgroup");
    return folder / "sys/fs/cgroup/memory.events";
  }
  /// Whether the counter that the dead job noted has risen.
  bool has_risen() { return left().oom.has_risen(folder.path()); }

  std::filesystem::path counter = made_counter();
  RunningTrials running{paths, 3, 3, "a1b2", count_oom_kills(0)};
};

TEST_F(Running, AreThoseThatHaveBegunAndNotEnded) {
  EXPECT_THAT(rows(), IsEmpty());
  running.begins(0, {18'446'744'073'709'551'615U, true});
  running.begins(1, {7});
  running.begins(2, {8});
  running.ends(1);
  EXPECT_THAT(rows(), ElementsAre("18446744073709551615.final running", "8 running"));
  EXPECT_EQ(left().job, "a1b2");
}

TEST_F(Running, TellWhoWatchesWhereTheyAreSinceWhenAndWhatTheyAre) {
  running.begins(1, {8}, "depth=3 act=re\nlu");
  running.begins(2, {9}, std::string(1000, 'x'));
  const LeftTrials now = left();
  EXPECT_EQ(now.rank, 3);
  ASSERT_EQ(now.rows.size(), 2U);
  EXPECT_EQ(now.rows[0].slot, 1U);
  EXPECT_EQ(now.rows[0].text, "depth=3 act=re\\x0alu");
  EXPECT_NEAR(now.rows[0].begun, unix_now_s(), 60);
  EXPECT_THAT(now.rows[1].text, ::testing::StartsWith("xxxx"));
  EXPECT_LT(now.rows[1].text.size(), 160U);
}

TEST_F(Running, TellTheLastValuesThatTheyHaveReported) {
  running.begins(1, {8}, "depth=3");
  running.reports(1, "step 1: accuracy=70");
  running.reports(1, "step 2: accuracy=71");
  EXPECT_EQ(left().rows.at(0).text, "step 2: accuracy=71, depth=3");
  running.begins(1, {9}, "depth=4");
  EXPECT_EQ(left().rows.at(0).text, "depth=4");
}

TEST_F(Running, AdvanceWithTheirFirstCheckpoint) {
  running.begins(0, {7});
  running.begins(1, {8});
  EXPECT_TRUE(running.advances({8}));
  EXPECT_FALSE(running.advances({8})) << "not the first";
  EXPECT_FALSE(running.advances({9})) << "does not run";
  EXPECT_THAT(rows(), ElementsAre("7 running", "8 advanced"));
  running.begins(1, {8});
  EXPECT_THAT(rows(), ElementsAre("7 running", "8 running"));
}

TEST_F(Running, AreOverdueUntilTheyEndWhetherTheyHaveAdvancedOrNot) {
  running.begins(0, {7});
  running.begins(1, {8});
  running.advances({8});
  running.is_overdue(0, {7});
  running.is_overdue(1, {8});
  running.is_overdue(2, {9});  // has ended meanwhile
  EXPECT_THAT(rows(), ElementsAre("7 running", "8 advanced"));
  EXPECT_TRUE(left().rows[0].overdue);
  EXPECT_TRUE(left().rows[1].overdue);
  running.begins(0, {9});
  EXPECT_FALSE(left().rows[0].overdue);
}

TEST_F(Running, StayAsTheyAreFromTheStopOfAJobOn) {
  running.begins(0, {7});
  running.begins(1, {8});
  EXPECT_TRUE(running.stops());
  running.count_last();
  running.ends(0);
  running.begins(2, {9});
  running.advances({8});
  EXPECT_THAT(rows(), ElementsAre("7 running", "8 advanced"));
}

TEST_F(Running, KeepTheCrashOfTheSlotWhoseThreadMadeIt) {
  std::thread([this] { running.begins(0, {7}); }).join();
  std::thread([this] {
    running.begins(1, {8});
    running.crashed(SIGSEGV);
  }).join();
  EXPECT_THAT(rows(), ElementsAre("7 running", "8 running 11"));
}

TEST_F(Running, KeepTheCrashOfAnotherThreadForAllSlots) {
  running.begins(0, {7});
  running.begins(1, {8});
  std::thread([this] { running.crashed(SIGABRT); }).join();
  EXPECT_THAT(rows(), ElementsAre("7 running 6", "8 running 6"));
}

TEST_F(Running, KeepNoCrashOfTheMainThreadOrOfAJobThatEndsOtherwise) {
  running.begins(0, {7});
  running.crashed(SIGSEGV);
  running.close();
  std::thread([this] { running.crashed(SIGSEGV); }).join();
  EXPECT_THAT(rows(), ElementsAre("7 running"));
}

TEST_F(Running, SayWhetherTheOomKillerCameWhileTheJobRanOrLater) {
  EXPECT_FALSE(has_risen());
  count_oom_kills(1);
  EXPECT_TRUE(has_risen());
  EXPECT_FALSE(left().saw_oom_kill);
  EXPECT_TRUE(running.stops());
  running.count_last();
  EXPECT_TRUE(left().saw_oom_kill);
  std::filesystem::remove(counter);
  EXPECT_FALSE(has_risen()) << "a counter that is gone says nothing";
  OomCount elsewhere = left().oom;
  count_oom_kills(1);
  elsewhere.place = "another node";
  EXPECT_FALSE(elsewhere.has_risen(folder.path()));
}

TEST_F(Running, SayThatTheOomKillerCameToANeighbourBelowTheSameLimit) {
  const auto tell = [this](const std::string& group, int kills) {
    const std::filesystem::path file = folder / "sys/fs/cgroup/step" / group / "memory.oom_control";
    std::filesystem::create_directories(file.parent_path());
    overwrite(file, "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(kills) + "\n");
  };
  for (const char* group : {"", "task_0", "task_1"}) tell(group, 1);
  running.remove();
  const RunningTrials in_step(paths, 3, 1, "a1b2", folder / "sys/fs/cgroup/step/memory.oom_control");
  EXPECT_FALSE(has_risen());
  tell("task_1", 2);
  EXPECT_TRUE(has_risen());
}

TEST_F(Running, OpenNothingButACounterWhateverTheirFileNames) {
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  overwrite(folder / "elsewhere", "oom_kill 5\n");
  for (const std::filesystem::path& file :
       {pipe, folder / "elsewhere", folder / "sys/fs/cgroup/../../../elsewhere"}) {
    EXPECT_FALSE((OomCount{.place = process_place(), .file = file}).has_risen(folder.path())) << file;
  }
  ASSERT_EQ(::mkfifo((folder / "sys/fs/cgroup/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(
      (OomCount{.place = process_place(), .file = folder / "sys/fs/cgroup/pipe"}).has_risen(folder.path()));
}

TEST_F(Running, AreNotWrittenThroughALink) {
  running.remove();
  overwrite(folder / "precious", "mine");
  std::filesystem::create_symlink(folder / "precious", paths.checkpoints() / "running.3");
  EXPECT_THAT(user_error_of([&] { RunningTrials(paths, 3, 1, "a1b2", counter); }),
              HasSubstr("running.3: expected a file with this name alone, found a symbolic link"));
  EXPECT_EQ(read_file(folder / "precious"), "mine");
}

TEST_F(Running, DoNotCountWhatTheOomKillerDidBeforeTheyBegan) {
  running.begins(0, {3});
  count_oom_kills(1);
  EXPECT_TRUE(has_risen());
  running.begins(1, {4});
  EXPECT_FALSE(has_risen());
  EXPECT_TRUE(running.stops());
  running.count_last();
  EXPECT_FALSE(left().saw_oom_kill);
  count_oom_kills(2);
  EXPECT_TRUE(has_risen());
}

TEST_F(Running, LeaveNothingWhenTheJobEndsInAnOrderlyWay) {
  running.begins(0, {7});
  running.remove();
  EXPECT_THAT(read_running_trials(paths), IsEmpty());
}

TEST_F(Running, OfADamagedFileAreSkipped) {
  for (const char* text :
       {"", "skyline-running 1 a\nplace b\noom_kills 0 0 c\n", "skyline-running 2 a\nplace b\noom_kills\n",
        "skyline-running 2 a\nplace b\noom_kills 0 0 c\n00 running seven 1\n"}) {
    overwrite(paths.checkpoints() / "running.3", text);
    EXPECT_THAT(read_running_trials(paths), IsEmpty()) << text;
  }
  remove_running_trials(paths);
  EXPECT_TRUE(std::filesystem::is_empty(paths.checkpoints()));
}

TEST_F(Running, MayBecomeSuspectsInFilesOfTheirOwn) {
  write_suspect(paths, {7}, {});
  write_suspect(paths, {7, true}, {{{"a1", "SIGSEGV"}, {"b2", std::string(kOomKiller)}}});
  write_suspect(paths, {8}, {});
  remove_suspect(paths, {8});
  const Suspects suspects = read_suspects(paths);
  ASSERT_THAT(suspects, ElementsAre(Pair(trial::TrialName{7}, ::testing::_),
                                    Pair(trial::TrialName{7, true}, ::testing::_)));
  EXPECT_THAT(suspects.at({7}).deaths, IsEmpty());
  ASSERT_EQ(suspects.at({7, true}).deaths.size(), 2U);
  EXPECT_EQ(suspects.at({7, true}).deaths[1].job, "b2");
  EXPECT_EQ(suspects.at({7, true}).deaths[1].cause, kOomKiller);
}

TEST(TrialNames, AreReadBackFromTheirTexts) {
  EXPECT_EQ(parse_trial_name("17"), trial::TrialName{17});
  EXPECT_EQ(parse_trial_name("17.final"), (trial::TrialName{17, true}));
  EXPECT_EQ(parse_trial_name("17.final.2"), (trial::TrialName{17, true, 2}));
  EXPECT_EQ(parse_trial_name("17.refit"), (trial::TrialName{17, true, trial::kRefit}));
  for (const char* text :
       {"", "x", "17.", "17.2", "17.finals", "17.final.", "17.final.0", "17.final.02", "17.final2",
        "17.refit.1", "17.refits", "17.final.4294967295", "017", "-1", "18446744073709551616"}) {
    EXPECT_EQ(parse_trial_name(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace skyline::store

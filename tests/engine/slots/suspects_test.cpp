#include "engine/slots/suspects.hpp"

#include "comm/environment.hpp"
#include "engine/fixtures/engine_rig.hpp"
#include "engine/fixtures/scripted_evaluator.hpp"
#include "engine/slots/slot_pool.hpp"
#include "store/run_folder/running_trials.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trial::TrialName;

class SuspectsTest : public ::testing::Test {
 protected:
  SuspectsTest() {
    std::filesystem::create_directories(paths.checkpoints());
    std::filesystem::create_directories(counter.parent_path());
    count_oom_kills(0);
  }
  void count_oom_kills(int kills) { std::ofstream(counter, std::ios::trunc) << "oom_kill " << kills << "\n"; }
  /// A job in whose slots these trials ran when it died. @param crashed  0 or 1: the slot that crashed
  std::unique_ptr<store::RunningTrials> job(const std::vector<TrialName>& trials, int crashed = -1,
                                            int rank = 0) {
    auto running = std::make_unique<store::RunningTrials>(paths, rank, trials.size(),
                                                          "job" + std::to_string(jobs_), counter);
    if (rank == 0) ++jobs_;
    for (std::size_t slot = 0; slot < trials.size(); ++slot) {
      std::thread([&] {
        running->begins(slot, trials[slot]);
        if (static_cast<int>(slot) == crashed) running->crashed(SIGSEGV);
      }).join();
    }
    return running;
  }
  SuspectTrials found(bool resume = true) {
    return find_suspects(environment->world(), paths, resume, folder.path());
  }

  ScratchFolder folder;
  store::RunPaths paths{folder.path() / "run"};
  std::filesystem::path counter = folder.path() / "sys/fs/cgroup/memory.events";
  std::unique_ptr<comm::Environment> environment = comm::make_local_environment();

 private:
  int jobs_ = 0;
};

TEST_F(SuspectsTest, AreTrialsInWhichAProcessCrashedAndFailOnlyAfterTwoDeathsAlone) {
  for (int i = 0; i < 3; ++i) {
    job({{2}, {3}}, 1);
    EXPECT_THAT(found().alone, ElementsAre(TrialName{3})) << "in company";
  }
  job({{3}}, 0);
  EXPECT_THAT(found().failed, IsEmpty());
  job({{3}}, 0);
  const SuspectTrials suspects = found();
  EXPECT_THAT(suspects.alone, IsEmpty());
  ASSERT_EQ(suspects.failed.size(), 1U);
  EXPECT_EQ(suspects.failed.at({3}).kind, trial::FailureKind::kException);
  EXPECT_EQ(suspects.failed.at({3}).reason, "ended 2 jobs while it trained alone, the last by SIGSEGV");
  EXPECT_EQ(found().failed.size(), 1U) << "until the run ends";
}

TEST_F(SuspectsTest, AreAllTrialsOfANodeWhereTheOomKillerCame) {
  for (int kills = 1; kills <= 3; ++kills) {
    job({{2}, {3, true}});
    job({{4}}, -1, 1);
    count_oom_kills(kills);
    EXPECT_THAT(found().alone, ElementsAre(TrialName{2}, TrialName{3, true}, TrialName{4}));
  }
  for (int kills = 4; kills <= 5; ++kills) {
    const auto killed = job({{4}});
    count_oom_kills(kills);
    killed->stops();
    killed->count_last();  // last count of a process that survives for a moment
    if (kills == 4) count_oom_kills(0);
    EXPECT_EQ(found().failed.size(), kills == 4 ? 0U : 1U);
  }
  EXPECT_EQ(found().failed.at({4}).kind, trial::FailureKind::kOutOfMemory);
  EXPECT_EQ(found().failed.at({4}).reason, "ended 2 jobs while it trained alone, the last by the OOM killer");
}

TEST_F(SuspectsTest, AreNoTrialsOfAJobThatWasKilledFromOutside) {
  for (int i = 0; i < 5; ++i) {
    job({{3}});
    const SuspectTrials suspects = found();
    EXPECT_THAT(suspects.alone, IsEmpty());
    EXPECT_THAT(suspects.failed, IsEmpty());
  }
  EXPECT_TRUE(std::filesystem::is_empty(paths.checkpoints()));
}

TEST_F(SuspectsTest, AreFreeWhenACheckpointOfTheirsAdvances) {
  job({{3}}, 0);
  EXPECT_THAT(found().alone, ElementsAre(TrialName{3}));
  job({{3}})->advances({3});
  EXPECT_THAT(found().alone, IsEmpty());
  {
    const auto crashes = job({{3}});
    crashes->advances({3});
    std::thread([&] { crashes->crashed(SIGSEGV); }).join();
  }
  EXPECT_THAT(found().alone, IsEmpty()) << "the crash came after a checkpoint";
}

TEST_F(SuspectsTest, AreBlamedOnceForADeathThatIsReadTwice) {
  job({{3}}, 0);
  std::filesystem::copy(paths.checkpoints() / "running.0", folder.path() / "copy");
  EXPECT_EQ(found().alone.size(), 1U);
  std::filesystem::copy(folder.path() / "copy", paths.checkpoints() / "running.0");
  EXPECT_EQ(found().alone.size(), 1U);
}

TEST_F(SuspectsTest, OfAnotherRunAreForgotten) {
  store::write_suspect(paths, {3}, {{{"a", "SIGSEGV"}, {"b", "SIGSEGV"}}});
  job({{4}}, 0);
  EXPECT_THAT(found(false).failed, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(paths.checkpoints()));
}

/// A run of three slots in one process, whose first job leaves five trials in the journal.
class RunWithSuspects : public SuspectsTest {
 protected:
  RunWithSuspects() {
    spec.options.slots = 3;
    run_in(*environment, paths.root, spec);
    whole = store::canonical_journal(paths.journal());
    std::ifstream file(paths.journal());
    std::string kept;
    std::string line;
    for (int i = 0; i < 6 && std::getline(file, line); ++i) kept += line + '\n';
    std::ofstream(paths.journal()) << kept;
  }
  RigRun resume() { return run_in(*environment, paths.root, spec, true); }

  RunSpec spec = evolution_spec();
  std::string whole;  // canonical
};

TEST_F(RunWithSuspects, TrainsEachOfThemAloneWithTheSameResult) {
  for (const TrialName suspect : {TrialName{5}, TrialName{7}, TrialName{9}}) {
    store::write_suspect(paths, suspect, {});
  }
  std::atomic<int> at_work = 0;
  spec.hook = [&](const trial::Trial& trial) {
    const bool is_suspect = trial.number == 5 || trial.number == 7 || trial.number == 9;
    const bool alone = is_suspect && !trial.is_final();
    const int at_begin = ++at_work;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(!alone || (at_begin == 1 && at_work == 1)) << trial.number;
    --at_work;
  };
  resume();
  EXPECT_EQ(store::canonical_journal(paths.journal()), whole);
  EXPECT_TRUE(std::filesystem::is_empty(paths.checkpoints()));
}

TEST_F(RunWithSuspects, CommitsThoseThatEndedTwoJobsAsFailuresAndDoesNotTrainThem) {
  store::write_suspect(paths, {7}, {{{"a", "SIGFPE"}, {"b", "OOM"}}});
  const RigRun job = resume();
  const trial::CommittedTrial& failed = job.result.committed.at(7);
  EXPECT_EQ(std::get<trial::Failure>(failed.outcome).kind, trial::FailureKind::kOutOfMemory);
  EXPECT_THAT(job.completed, ::testing::Not(::testing::Contains("7")));
  EXPECT_EQ(resume().result.committed.size(), job.result.committed.size()) << "it is in the journal";
}

// Else a trial that is to train alone may begin, and end the job, while another one seems to run.
TEST_F(SuspectsTest, ATrialIsNotedAsEndedBeforeItIsHandedIn) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    context.weights().keep({{"w", {1}, {2.5F}}});
    return trial::Measurements{{0.5}};
  });
  const auto running = std::make_shared<store::RunningTrials>(paths, 0, 1, "job", counter);
  std::atomic<bool> was_idle = false;
  const auto sink = [&](const trial::Trial&, auto&&, auto&&, const auto& written) {
    was_idle = store::read_running_trials(paths).at(0).rows.empty();
    written();
  };
  SlotPool pool(pool_of(1), evaluator, {sink, {}, nullptr, nullptr, {}, running});
  pool.submit(0, {trial_of(0), {}});
  EXPECT_EQ(collect(pool, 1).size(), 1U);
  EXPECT_TRUE(was_idle);
}

}  // namespace
}  // namespace skyline::engine

#include "skyline/core/error.hpp"

#include "evaluate/command/metric_commands.hpp"
#include "evaluate/process/trainer_fixture.hpp"
#include "support/user_error_of.hpp"

#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

namespace skyline::evaluate {
namespace {

using ::testing::HasSubstr;
using testing::user_error_of;

class MeasurementSemaphoreTest : public testing::TrainerFixture {};

TEST_F(MeasurementSemaphoreTest, IsTakenUntilADescriptorIsClosed) {
  const MeasurementSemaphore turns(folder(), "phone_ms", 2);
  FileDescriptor first = turns.try_acquire();
  const FileDescriptor second = turns.try_acquire();
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(turns.try_acquire());
  first.reset();
  EXPECT_TRUE(turns.try_acquire());
}

TEST_F(MeasurementSemaphoreTest, IsSharedUnderOneNameOnly) {
  const FileDescriptor taken = MeasurementSemaphore(folder(), "phone_ms", 1).try_acquire();
  EXPECT_FALSE(MeasurementSemaphore(folder(), "phone_ms", 1).try_acquire());
  EXPECT_TRUE(MeasurementSemaphore(folder(), "board/energy", 1).try_acquire());
}

TEST_F(MeasurementSemaphoreTest, StaysTakenUntilTheProgramEndsThoughTheRankIsGone) {
  const MeasurementSemaphore turns(folder(), "phone_ms", 1);
  ProcessPlan measuring = plan("ls /proc/$$/fd; echo > ready; sleep 600");
  FileDescriptor turn = turns.try_acquire();
  measuring.held = turn.get();
  UserProgram process(measuring);
  wait_for("ready");
  turn.reset();  // simulated end of the rank
  EXPECT_FALSE(turns.try_acquire());
  process.kill();
  EXPECT_EQ(end_of(process).kind, ProcessEnd::Kind::kSignaled);
  FileDescriptor next;
  for (int look = 0; look < 12'000 && !(next = turns.try_acquire()); ++look) {  // the launcher ends now
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(next);
  EXPECT_EQ(text_of("a.log"), "0\n1\n2\n3\n");  // the program has no part in it
}

/// The last of three ranks, where the others are on another host.
class FarRanks final : public Ranks {
 public:
  int rank() const override { return 2; }
  int size() const override { return 3; }
  std::vector<std::string> exchange(const std::string& mine) override { return {"", "", mine}; }
};

TEST_F(MeasurementSemaphoreTest, IsRefusedWhereEachHostHasLocksOfItsOwn) {
  FarRanks ranks;
  EXPECT_THAT(
      user_error_of([&] { check_locks(ranks, folder(), "node7"); }),
      HasSubstr("that rank 0 has is none on node7: `at_once` needs a file system whose locks hold for all "
                "hosts (NFS without nolock, Lustre with flock"));
  const FileDescriptor of_rank_0 = open_file(folder() / "trainer/turns/probe", O_RDWR);
  ASSERT_EQ(flock(of_rank_0.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_NO_THROW(check_locks(ranks, folder(), "node7"));
}

}  // namespace
}  // namespace skyline::evaluate

#include "machine/node_semaphore.hpp"

#include "skyline/core/error.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::machine {
namespace {

using namespace std::chrono_literals;
using Hold = std::optional<NodeSemaphore::Hold>;

bool never() {
  return false;
}

bool at_once() {
  return true;
}

/// Two objects of one name stand for two processes: a lock is that of an open file.
class NodeSemaphoreTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kTokens = 3;
  std::string name = "skyline-test-" + std::to_string(::getpid());
  NodeSemaphore here{name, kTokens, 4};
  NodeSemaphore there{name, kTokens, 4};
  void SetUp() override { here.remove_name(); }
};

TEST_F(NodeSemaphoreTest, AreSharedByTheProcessesOfANode) {
  Hold one = here.acquire(1, never);
  const Hold two = there.acquire(2, never);
  EXPECT_FALSE(here.acquire(1, at_once));
  EXPECT_FALSE(there.acquire(1, at_once));
  one.reset();
  EXPECT_TRUE(there.acquire(1, at_once));  // and returned
  EXPECT_TRUE(here.acquire(1, at_once));
  EXPECT_FALSE(here.acquire(2, at_once));
}

TEST_F(NodeSemaphoreTest, LeaveNoNameBehind) {
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/" + name));
}

TEST_F(NodeSemaphoreTest, GivesAllTokensToOneThatAsksForMore) {
  EXPECT_TRUE(here.acquire(100, at_once));
}

TEST_F(NodeSemaphoreTest, LetsNoSmallRequestPassALargeOneThatWaits) {
  Hold one = here.acquire(1, never);
  std::atomic<bool> got = false;
  std::atomic<bool> waits = false;
  std::thread large([&] {
    const Hold all = there.acquire(kTokens, [&] {
      waits = true;
      return false;
    });
    got = true;
  });
  while (!waits) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(here.acquire(1, at_once));
  EXPECT_FALSE(got);
  one.reset();
  large.join();
  EXPECT_TRUE(here.acquire(1, at_once));
}

TEST(NodeSemaphore, GetsTokensBackFromAProcessThatIsKilled) {
  const std::string name = "skyline-test-killed-" + std::to_string(::getpid());
  NodeSemaphore tokens(name, 2, 1);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    NodeSemaphore own(name, 2, 1);
    const Hold all = own.acquire(2, never);
    if (::write(ends[1], "x", 1) == 1) ::pause();
    ::_exit(0);
  }
  char letter = 0;
  ASSERT_EQ(::read(ends[0], &letter, 1), 1);
  EXPECT_FALSE(tokens.acquire(1, at_once));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(tokens.acquire(2, at_once));
  tokens.remove_name();
}

TEST(NodeSemaphore, SayWhereTheirFileCannotBe) {
  EXPECT_THROW(NodeSemaphore("no/such/folder", 1, 1), UserError);
}

}  // namespace
}  // namespace skyline::machine

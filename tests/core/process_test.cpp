#include "core/system/process.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline {
namespace {

TEST(Processors, AreAscendingAndAtLeastOne) {
  const auto processors = allowed_processors();
  ASSERT_FALSE(processors.empty());
  EXPECT_TRUE(std::is_sorted(processors.begin(), processors.end()));
}

TEST(Processors, BindingHoldsForTheCallingThreadOnly) {
  const auto before = allowed_processors();
  std::vector<int> inside;
  std::thread([&] {
    EXPECT_TRUE(bind_this_thread(before.back()));
    inside = allowed_processors();
  }).join();
  EXPECT_EQ(inside, std::vector<int>{before.back()});
  EXPECT_EQ(allowed_processors(), before);
}

TEST(Processors, BindingToSeveralIsInherited) {
  const auto before = allowed_processors();
  std::vector<int> inside;
  std::thread([&] {
    EXPECT_TRUE(bind_this_thread(std::vector<int>{before.front(), before.back()}));
    std::thread([&] { inside = allowed_processors(); }).join();
  }).join();
  EXPECT_EQ(inside.front(), before.front());
  EXPECT_EQ(inside.back(), before.back());
  EXPECT_LE(inside.size(), 2);
}

TEST(Processors, RefusesToBindToAProcessorThatIsNotThere) {
  const auto before = allowed_processors();
  EXPECT_FALSE(bind_this_thread(-1));
  EXPECT_FALSE(bind_this_thread(100'000));
  EXPECT_FALSE(bind_this_thread(std::vector<int>{}));
  EXPECT_EQ(allowed_processors(), before);
}

TEST(SuspendedProcesses, AreFoundAndTellTheirVariables) {
  const pid_t child = ::fork();
  if (child == 0) {
    const char* const variables[] = {"WORD=a=b", nullptr};
    ::execle("/bin/sleep", "sleep", "60", nullptr, variables);
    ::_exit(1);
  }
  const auto is_suspended = [child] { return std::ranges::count(suspended_processes(), child) == 1; };
  int status = 0;
  ::kill(child, SIGSTOP);
  ::waitpid(child, &status, WUNTRACED);
  EXPECT_TRUE(is_suspended());
  ::kill(child, SIGCONT);
  ::waitpid(child, &status, WCONTINUED);
  EXPECT_FALSE(is_suspended());
  while (variable_of_process(child, "WORD") != "a=b") std::this_thread::yield();  // until it has started
  EXPECT_EQ(variable_of_process(child, "WOR"), std::nullopt);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_EQ(variable_of_process(child, "WORD"), std::nullopt);
}

}  // namespace
}  // namespace skyline

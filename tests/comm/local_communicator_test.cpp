#include "comm/environment.hpp"
#include "core/system/process.hpp"

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using ::testing::ElementsAre;

TEST(LocalCommunicator, CompletesEveryOperationAtOnce) {
  const auto communicator = make_local_communicator();
  std::array<int, 2> values{3, 4};
  EXPECT_TRUE(communicator->broadcast(std::as_writable_bytes(std::span(values)), 0)->test());
  EXPECT_TRUE(communicator->barrier()->test());
  EXPECT_THAT(values, ElementsAre(3, 4));
}

TEST(Environment, IsOneProcessWhenNoLauncherStartedIt) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) unsetenv(name);
  const auto environment = Environment::start();
  EXPECT_EQ(environment->describe(), "one process, no MPI");
  EXPECT_EQ(environment->world().size(), 1);
  EXPECT_EQ(environment->place().local_size, 1);
  EXPECT_EQ(environment->place().processors, allowed_processors());
  EXPECT_FALSE(environment->place().host.empty());
}

TEST(Environment, FlushesWhatIsBufferedWhenItAborts) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) unsetenv(name);
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        std::setvbuf(stderr, nullptr, _IOFBF, 4096);
        std::fputs("last words", stderr);
        Environment::start()->abort(7);
      },
      ::testing::ExitedWithCode(7), "last words");
}

}  // namespace
}  // namespace skyline::comm

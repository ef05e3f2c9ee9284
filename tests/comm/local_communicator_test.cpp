#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "comm/environment.hpp"
#include "core/system/process.hpp"

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using ::testing::ElementsAre;

TEST(LocalCommunicator, IsRankZeroOfOne) {
  const auto communicator = make_local_communicator();
  EXPECT_EQ(communicator->rank(), 0);
  EXPECT_EQ(communicator->size(), 1);
}

TEST(LocalCommunicator, CompletesEveryOperationAtOnce) {
  const auto communicator = make_local_communicator();
  std::array<int, 2> values{3, 4};
  EXPECT_TRUE(communicator->broadcast(std::as_writable_bytes(std::span(values)), 0)->test());
  EXPECT_TRUE(communicator->barrier()->test());
  EXPECT_THAT(values, ElementsAre(3, 4));
}

TEST(LocalCommunicator, ScattersAndGathersByCopy) {
  const auto communicator = make_local_communicator();
  const std::array<int, 2> from{5, 6};
  std::array<int, 2> scattered{};
  std::array<int, 2> gathered{};
  wait(*communicator->scatter(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(scattered)),
                              0));
  wait(*communicator->gather(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(gathered)), 0));
  EXPECT_THAT(scattered, ElementsAre(5, 6));
  EXPECT_THAT(gathered, ElementsAre(5, 6));
}

TEST(LocalCommunicator, RefusesBuffersOfUnequalSize) {
  const auto communicator = make_local_communicator();
  const std::array<int, 2> from{5, 6};
  std::array<int, 3> to{};
  EXPECT_THROW(communicator->gather(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)), 0),
               InternalError);
}

TEST(LocalCommunicator, PassesTexts) {
  const auto communicator = make_local_communicator();
  EXPECT_EQ(share(*communicator, std::string("all of it")), "all of it");
  EXPECT_THAT(gather(*communicator, std::string()), ElementsAre(""));
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

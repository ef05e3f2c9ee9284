#include "comm/communicator.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/system/process.hpp"
#include "support/cpu_seconds.hpp"
#include "support/mpi_test.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class CommunicatorTest : public testing::MpiTest {
 protected:
  std::size_t ranks() { return static_cast<std::size_t>(size()); }
};

TEST_F(CommunicatorTest, IsOfAnMpiThatTakesCallsOfAnyThread) {
  EXPECT_TRUE(testing::environment().threads_may_communicate());
}

TEST_F(CommunicatorTest, BroadcastsFromAnyRoot) {
  for (int root = 0; root < size(); ++root) {
    std::vector<std::int64_t> values(1000, rank() == root ? root + 5 : -1);
    wait(*world().broadcast(std::as_writable_bytes(std::span(values)), root));
    EXPECT_EQ(values, std::vector<std::int64_t>(1000, root + 5));
  }
}

TEST_F(CommunicatorTest, ScattersEachRankItsPart) {
  std::vector<int> all(rank() == 0 ? 3 * ranks() : 0);
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> mine(3);
  wait(*world().scatter(std::as_bytes(std::span(all)), std::as_writable_bytes(std::span(mine)), 0));
  EXPECT_EQ(mine, (std::vector<int>{3 * rank(), 3 * rank() + 1, 3 * rank() + 2}));
}

TEST_F(CommunicatorTest, GathersByRank) {
  const std::vector<int> mine{rank(), 10 * rank()};
  std::vector<int> all(rank() == 0 ? 2 * ranks() : 0);
  wait(*world().gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), 0));
  for (std::size_t i = 0; i < all.size() / 2; ++i) {
    EXPECT_EQ(all[2 * i], static_cast<int>(i));
    EXPECT_EQ(all[2 * i + 1], static_cast<int>(10 * i));
  }
}

TEST_F(CommunicatorTest, MatchesSeveralGathersUnderWayByTheirOrder) {
  constexpr int kGathers = 20;
  std::vector<int> mine(kGathers);
  std::vector<std::vector<int>> all(kGathers, std::vector<int>(rank() == 0 ? ranks() : 0));
  std::vector<std::unique_ptr<Request>> requests;
  for (std::size_t i = 0; i < kGathers; ++i) {
    mine[i] = 100 * rank() + static_cast<int>(i);
    requests.push_back(
        world().gather(std::as_bytes(std::span(&mine[i], 1)), std::as_writable_bytes(std::span(all[i])), 0));
  }
  for (auto& request : requests) wait(*request);
  for (std::size_t i = 0; i < kGathers; ++i) {
    for (std::size_t r = 0; r < all[i].size(); ++r) EXPECT_EQ(all[i][r], static_cast<int>(100 * r + i));
  }
}

TEST_F(CommunicatorTest, SaysDoneAgainAfterCompletion) {
  const auto request = world().barrier();
  wait(*request);
  EXPECT_TRUE(request->test());
}

TEST_F(CommunicatorTest, RefusesARootBufferOfTheWrongSize) {
  const int mine = 0;
  std::vector<int> all(ranks() + 1);
  EXPECT_THROW(
      world().gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), rank()),
      InternalError);
}

TEST_F(CommunicatorTest, ReportsAnMpiErrorInsteadOfDying) {
  if (testing::environment().describe() == "one process, no MPI") return;
  int value = 0;
  try {
    world().broadcast(std::as_writable_bytes(std::span(&value, 1)), size() + 3);
    ADD_FAILURE() << "a root that does not exist was accepted";
  } catch (const FaultError& error) {
    EXPECT_THAT(error.what(), HasSubstr("MPI_Ibcast: MPI_ERR_ROOT"));
  }
}

TEST_F(CommunicatorTest, WaitingRanksUseLittleOfACore) {
  bool use_little = false;
  for (int round = 0; round < 5 && !use_little; ++round) {  // a virtual machine may count what others use
    const double before = testing::process_cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    if (rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    wait(*world().barrier());
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    use_little = on_all_ranks(testing::process_cpu_seconds() - before < 0.02 * wall.count());
  }
  EXPECT_TRUE(use_little);
}

TEST_F(CommunicatorTest, PlacesEveryRankOnProcessorsOfItsOwn) {
  const NodePlace& place = testing::environment().place();
  EXPECT_EQ(place.node_count, 1);
  EXPECT_EQ(place.local_size, size());
  EXPECT_EQ(place.local_rank, rank());
  EXPECT_FALSE(place.processors.empty());
  std::string allowed;
  for (const int processor : allowed_processors()) allowed += std::to_string(processor) + ' ';
  std::set<int> of_all_ranks;
  for (const std::string& mask : gather(world(), allowed)) {
    std::istringstream numbers(mask);
    for (int processor = 0; numbers >> processor;) of_all_ranks.insert(processor);
  }
  const auto firsts = gather(world(), std::to_string(place.processors.front()));
  const std::set<std::string> different(firsts.begin(), firsts.end());
  EXPECT_EQ(different.size(), std::min(of_all_ranks.size(), rank() == 0 ? ranks() : 0));
}

TEST_F(CommunicatorTest, NamesANodeByItsFirstRank) {
  EXPECT_EQ(testing::environment().place().node, 0);
  EXPECT_EQ(testing::environment().place().allowed, allowed_processors());
}

TEST_F(CommunicatorTest, DeliversMessagesBetweenTwoRanksInTheOrderOfSending) {
  if (size() == 1) {
    if (testing::environment().describe() == "one process, no MPI") {
      std::byte byte{};
      EXPECT_THROW(world().send(std::span(&byte, 1), 0), InternalError);
    }
    return;
  }
  const int last = size() - 1;
  std::array<std::byte, 2> values{std::byte{7}, std::byte{9}};
  if (rank() == last) {
    const auto first = world().send(std::span(values).subspan(0, 1), 0);
    const auto second = world().send(std::span(values).subspan(1, 1), 0);
    wait(*world().barrier());  // messages and collectives do not get in each other's way
    wait(*first);
    wait(*second);
  } else if (rank() == 0) {
    wait(*world().barrier());
    std::array<std::byte, 2> got{};
    wait(*world().receive(std::span(got).subspan(0, 1), last));
    wait(*world().receive(std::span(got).subspan(1, 1), last));
    EXPECT_EQ(got, values);
  } else {
    wait(*world().barrier());
  }
}

TEST_F(CommunicatorTest, DescribesItself) {
  const std::string text = testing::environment().describe();
  if (size() == 1) {
    EXPECT_THAT(text, AnyOf("one process, no MPI", HasSubstr(": 1 rank on 1 node (")));
  } else {
    EXPECT_TRUE(text.starts_with("mpirun, Open MPI ")) << text;
    const std::string host = testing::environment().place().host;
    EXPECT_TRUE(text.ends_with(": " + std::to_string(size()) + " ranks on 1 node (" + host + ")")) << text;
  }
}

}  // namespace
}  // namespace skyline::comm

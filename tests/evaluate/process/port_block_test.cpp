#include "skyline/core/error.hpp"

#include "core/system/open_file.hpp"
#include "evaluate/process/host_resources.hpp"
#include "support/user_error_of.hpp"

#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace skyline::evaluate {
namespace {

using testing::fault_error_of;

/// A range of the tests' own, below the ephemeral ports and the default ones.
constexpr PortRange kFew{21'300, 21'304};

FileDescriptor listener_on(int port, in_addr_t address) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(address);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  return socket;
}

TEST(PortBlockTest, TheDefaultPortsAreBelowTheEphemeralOnes) {
  EXPECT_EQ(default_ports({32'768, 61'000}), (PortRange{24'576, 32'768}));
  EXPECT_EQ(default_ports({5'000, 61'000}), (PortRange{1'024, 5'000}));
  EXPECT_EQ(default_ports({1'000, 61'000}).size(), 0);
  EXPECT_LE(default_ports(ephemeral_ports()).end, ephemeral_ports().first);
  EXPECT_GT(ephemeral_ports().size(), 0);
}

TEST(PortBlockTest, RanksOfANodeHaveBlocksThatDoNotOverlap) {
  const PortRange range{2'000, 2'010};
  EXPECT_EQ(ports_of_rank(range, 0, 3), (PortRange{2'000, 2'003}));
  EXPECT_EQ(ports_of_rank(range, 1, 3), (PortRange{2'003, 2'006}));
  EXPECT_EQ(ports_of_rank(range, 2, 3), (PortRange{2'006, 2'009}));
  EXPECT_EQ(ports_of_rank(range, 0, 1), range);
}

TEST(PortBlockTest, APortIsTakenOnceAndCanBeTakenAgainAfterUse) {
  PortBlock block(kFew);
  {
    std::vector<TakenPort> taken;
    std::set<int> numbers;
    for (int i = 0; i < kFew.size(); ++i) numbers.insert(taken.emplace_back(block.acquire()).number());
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(kFew.size()));
    EXPECT_EQ(fault_error_of([&] { block.acquire(); }), "no port from 21300 to 21303 is free");
  }
  EXPECT_EQ(block.acquire().number(), 21'300);
}

TEST(PortBlockTest, APortRestsAsLongAsPossible) {
  PortBlock block(kFew);
  EXPECT_EQ(block.acquire().number(), 21'300);
  EXPECT_EQ(block.acquire().number(), 21'301);
}

TEST(PortBlockTest, OtherBlocksOfTheHostRespectAPort) {
  PortBlock one(kFew);
  PortBlock other(kFew);  // block of a second job
  const TakenPort first = one.acquire();
  EXPECT_NE(other.acquire().number(), first.number());
}

TEST(PortBlockTest, APortOnWhichSomebodyListensIsPassedOver) {
  PortBlock block(kFew);
  const FileDescriptor all = listener_on(21'300, INADDR_ANY);
  const FileDescriptor local = listener_on(21'301, INADDR_LOOPBACK);
  EXPECT_EQ(block.acquire().number(), 21'302);
}

TEST(PortBlockTest, ThreadsNeverShareAPort) {
  PortBlock block({21'310, 21'326});
  std::mutex mutex;
  std::multiset<int> in_use;
  const auto use_some = [&] {
    for (int i = 0; i < 100; ++i) {
      const TakenPort port = block.acquire();
      {
        const std::lock_guard lock(mutex);
        in_use.insert(port.number());
        EXPECT_EQ(in_use.count(port.number()), 1U);
      }
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      in_use.erase(port.number());
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(use_some);
}

}  // namespace
}  // namespace skyline::evaluate

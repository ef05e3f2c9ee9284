#include "comm/link.hpp"

#include "core/backoff.hpp"
#include "support/mpi_test.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

constexpr std::size_t kMostBytes = 100;

/// A number in a message whose length it determines.
std::vector<std::byte> message_of(std::uint64_t number) {
  std::vector<std::byte> message(sizeof number + number % (kMostBytes - sizeof number));
  std::memcpy(message.data(), &number, sizeof number);
  return message;
}

std::uint64_t parse_number(const LinkMessage& message) {
  std::uint64_t number = 0;
  std::memcpy(&number, message.bytes.data(), sizeof number);
  EXPECT_EQ(message.bytes.size(), message_of(number).size());
  return number;
}

class LinkTest : public testing::MpiTest, public ::testing::WithParamInterface<const char*> {
 protected:
  /// Collective: nothing at one rank.
  std::unique_ptr<Link> make() {
    if (size() == 1) return nullptr;
    return std::string(GetParam()) == "collective" ? make_collective_link(world(), kMostBytes)
                                                   : testing::environment().make_link(kMostBytes);
  }
  /// Receives so many numbers; those of each rank come in the order of sending: 0, 1, 2, ...
  void expect_numbers(Link& link, std::uint64_t count) {
    std::map<int, std::uint64_t> next;
    Backoff backoff;
    while (count > 0) {
      const auto message = link.receive();
      if (!message) {
        backoff.pause();
        continue;
      }
      EXPECT_EQ(parse_number(*message), next[message->from]++);
      --count;
      backoff.reset();
    }
    EXPECT_FALSE(link.receive());
  }
};

TEST_P(LinkTest, BringsMessagesInTheOrderOfSending) {
  constexpr std::uint64_t kMessages = 500;
  const auto link = make();
  if (!link) return;
  const int first = rank() == 0 ? 1 : 0;
  const int last = rank() == 0 ? size() : 1;
  for (int to = first; to < last; ++to) {
    for (std::uint64_t i = 0; i < kMessages; ++i) link->send(to, message_of(i));
  }
  expect_numbers(*link, kMessages * static_cast<std::uint64_t>(last - first));
  while (!link->is_sent()) EXPECT_FALSE(link->receive());
  link->close();
}

TEST_P(LinkTest, AnswersOneRankWhileOthersAreSilent) {
  const auto link = make();
  if (!link) return;
  Backoff backoff;
  for (std::uint64_t i = 0; i < 20; ++i) {
    if (rank() == 0) link->send(1, message_of(i));
    if (rank() > 1) continue;
    auto message = link->receive();
    for (; !message; message = link->receive()) backoff.pause();
    backoff.reset();
    EXPECT_EQ(parse_number(*message), i);
    if (rank() == 1) link->send(0, message_of(i));
  }
  link->close();  // the other ranks take part in waves here
}

TEST_P(LinkTest, TakesNobodyForDeadWhoseMessagesCome) {
  const auto link = make();
  if (!link) return;
  const int other = rank() == 0 ? 1 : 0;
  EXPECT_FALSE(link->has_died(other));
  if (rank() < 2) link->send(other, message_of(0));
  if (rank() < 2) expect_numbers(*link, 1);
  EXPECT_FALSE(link->has_died(other));
  link->close();
}

TEST_P(LinkTest, LeavesTheWorldFreeOnceItIsClosed) {
  for (int i = 0; i < 3; ++i) {
    const auto link = make();
    if (link) link->close();
    wait(*world().barrier());
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, LinkTest, ::testing::Values("collective", "point_to_point"));

}  // namespace
}  // namespace skyline::comm

#include "comm/mailbox.hpp"

#include "core/backoff.hpp"
#include "support/mpi_test.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

std::shared_ptr<const Buffer> buffer_of(BufferPool& pool, int number, std::size_t size) {
  const auto buffer = pool.acquire(size);
  std::memset(buffer->bytes().data(), number, size);
  return buffer;
}

class MailboxTest : public testing::MpiTest {
 protected:
  /// Collective: nothing at one rank.
  std::unique_ptr<Mailbox> mailbox_ = testing::environment().make_mailbox();
};

TEST_F(MailboxTest, ExistsWhereThereIsAnotherRank) {
  EXPECT_EQ(mailbox_ != nullptr, size() > 1);
  if (!mailbox_) return;
  EXPECT_EQ(mailbox_->rank(), rank());
  EXPECT_EQ(mailbox_->size(), size());
  mailbox_->close();
}

TEST_F(MailboxTest, BringsMessagesOfAnySizeInTheOrderOfSending) {
  if (!mailbox_) return;
  const std::vector<std::size_t> sizes{100'000, 1, 0, 4096, 1'000'000, 64};
  BufferPool pool;
  for (int to = 0; to < size(); ++to) {
    if (to == rank()) continue;
    for (const std::size_t bytes : sizes) mailbox_->send(buffer_of(pool, rank(), bytes), to);
  }
  std::map<int, std::vector<std::size_t>> arrived;
  Backoff backoff;
  for (std::size_t left = sizes.size() * static_cast<std::size_t>(size() - 1); left > 0;) {
    const auto message = mailbox_->receive();
    if (!message) {
      backoff.pause();
      continue;
    }
    --left;
    arrived[message->from].push_back(message->buffer->bytes().size());
    for (const std::byte value : message->buffer->bytes()) {
      if (value != std::byte{static_cast<unsigned char>(message->from)}) {
        ADD_FAILURE() << "a message was changed on its way";
        break;
      }
    }
  }
  EXPECT_EQ(arrived.size(), static_cast<std::size_t>(size() - 1));
  for (const auto& [from, got] : arrived) EXPECT_EQ(got, sizes) << "from " << from;
  mailbox_->close();
  EXPECT_EQ(mailbox_->unsent_bytes(), 0U);
}

TEST_F(MailboxTest, ClosesOverMessagesThatNobodyReads) {
  if (!mailbox_) return;
  BufferPool pool;
  mailbox_->send(buffer_of(pool, 1, 1'000'000), (rank() + 1) % size());
  mailbox_->send(buffer_of(pool, 1, 10), (rank() + 1) % size());
  mailbox_->close();
  EXPECT_EQ(mailbox_->unsent_bytes(), 0U);
}

TEST_F(MailboxTest, LetsTheNodesRanksReadBuffersWhereTheyAre) {
  if (!mailbox_) return;
  constexpr std::size_t kBuffers = 100;  // more than there is shared memory for
  constexpr std::size_t kBytes = 200'000;
  const int next = (rank() + 1) % size();
  for (std::size_t number = 0; number < kBuffers; ++number) {
    const auto buffer = mailbox_->acquire(kBytes);
    std::memset(buffer->bytes().data(), static_cast<int>(number), kBytes);
    mailbox_->send(buffer, next);
  }
  EXPECT_GT(mailbox_->unsent_bytes(), 0U);
  wait(*world().barrier());  // before anybody reads
  std::vector<std::shared_ptr<const Buffer>> buffers;
  Backoff backoff;
  while (buffers.size() < kBuffers) {
    if (const auto message = mailbox_->receive()) {
      buffers.push_back(message->buffer);
    } else {
      backoff.pause();
    }
  }
  for (std::size_t number = 0; number < kBuffers; ++number) {
    const std::byte expected{static_cast<unsigned char>(number)};
    EXPECT_EQ(buffers[number]->bytes().size(), kBytes);
    EXPECT_EQ(buffers[number]->bytes().front(), expected);
    EXPECT_EQ(buffers[number]->bytes().back(), expected);
  }
  buffers.clear();
  mailbox_->close();
  EXPECT_EQ(mailbox_->unsent_bytes(), 0U);
}

TEST_F(MailboxTest, ServesAThreadWhileTheMainOneUsesTheWorld) {
  if (!mailbox_) return;
  constexpr int kRounds = 200;
  int received = 0;
  std::thread thread([&] {
    BufferPool pool;
    Backoff backoff;
    const int next = (rank() + 1) % size();
    for (int round = 0; round < kRounds; ++round) mailbox_->send(buffer_of(pool, round, 10'000), next);
    while (received < kRounds) {
      if (mailbox_->receive()) {
        ++received;
        backoff.reset();
      } else {
        backoff.pause();
      }
    }
  });
  for (std::int64_t round = 0; round < kRounds; ++round) {
    std::int64_t value = rank() == 0 ? round : -1;
    wait(*world().broadcast(std::as_writable_bytes(std::span(&value, 1)), 0));
    EXPECT_EQ(value, round);
  }
  thread.join();
  EXPECT_EQ(received, kRounds);
  mailbox_->close();
}

TEST(BufferPool, GivesMemoryAgainOfAboutTheSize) {
  BufferPool pool;
  auto first = pool.acquire(5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first->bytes().data()) % 64, 0U);
  const std::byte* memory = first->bytes().data();
  first.reset();
  EXPECT_NE(pool.acquire(100)->bytes().data(), memory);
  const auto again = pool.acquire(6000);
  EXPECT_EQ(again->bytes().data(), memory);
  EXPECT_EQ(again->bytes().size(), 6000U);
}

TEST(BufferPool, IsOutlivedByItsBuffers) {
  std::shared_ptr<Buffer> buffer;
  {
    BufferPool pool;
    buffer = pool.acquire(100);
  }
  buffer->bytes()[99] = std::byte{1};
  EXPECT_EQ(buffer->bytes().size(), 100U);
}

}  // namespace
}  // namespace skyline::comm

#include "engine/weights/parent_exchange.hpp"

#include "skyline/core/error.hpp"

#include "support/thread_mailboxes.hpp"

#include <future>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;
using trial::NamedTensor;

constexpr std::size_t kEnough = 1'000'000;
constexpr auto kForEver = 24h;

RecentWeights::File weights(trial::TrialNumber trial, std::size_t floats) {
  auto file = std::make_shared<store::WeightsFile>();
  file->trial = trial;
  file->tensors = {{"conv2d_0.weight", {static_cast<std::int64_t>(floats), 1}, std::vector<float>(floats)},
                   {"batch_norm_1.batches", {}, {3.5F}},
                   {"linear_2.bias", {0}, {}}};
  for (std::size_t i = 0; i < floats; ++i) file->tensors[0].values[i] = static_cast<float>(i) / 3;
  return file;
}

void expect_same(const std::vector<NamedTensor>& left, const std::vector<NamedTensor>& right) {
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].name, right[i].name);
    EXPECT_EQ(left[i].dims, right[i].dims);
    EXPECT_EQ(left[i].values, right[i].values);
  }
}

TEST(RecentWeights, KeepsFilesUpToTheBytesOfTheirTensors) {
  RecentWeights recent(1000);
  const RecentWeights::File file = weights(7, 99);  // 400 bytes
  recent.keep(file);
  recent.keep(weights(8, 99));
  EXPECT_EQ(recent.find(7), file);
  EXPECT_EQ(recent.find(9), nullptr);
  recent.keep(weights(9, 99));
  EXPECT_EQ(recent.find(8), nullptr) << "the least recently used";
  recent.keep(weights(10, 250));
  EXPECT_EQ(recent.find(10), nullptr) << "too large";
  EXPECT_EQ(recent.find(7), file);
}

/// Two ranks that are threads of this process. RetryPolicy is longer than a test may take (CTest ends it):
/// who waits for an answer that does not come fails.
class ParentExchangeTest : public ::testing::Test {
 protected:
  static trial::Inherit parent(trial::TrialNumber trial, int holder) { return {trial, nullptr, 1, holder}; }
  std::unique_ptr<ParentExchange> make(std::size_t rank, std::chrono::milliseconds patience = kForEver) {
    return std::make_unique<ParentExchange>(std::move(boxes_[rank]), recent_[rank], patience);
  }

  std::vector<std::unique_ptr<comm::Mailbox>> boxes_ = testing::make_thread_mailboxes(2);
  std::vector<std::shared_ptr<RecentWeights>> recent_ = {std::make_shared<RecentWeights>(kEnough),
                                                         std::make_shared<RecentWeights>(kEnough)};
  std::atomic<bool> stop_{false};
};

TEST_F(ParentExchangeTest, BringsWhatTheHolderHasAndKeepsIt) {
  const auto file = weights(4, 1000);
  recent_[1]->keep(file);
  const auto asking = make(0);
  const auto holding = make(1);
  const auto brought = asking->ask(parent(4, 1), stop_);
  ASSERT_NE(brought, nullptr);
  EXPECT_EQ(brought->trial, 4U);
  expect_same(brought->tensors, file->tensors);
  EXPECT_EQ(recent_[0]->find(4), brought) << "the next child need not ask";
}

TEST_F(ParentExchangeTest, SaysAtOnceWhatItLacks) {
  const auto asking = make(0);
  const auto holding = make(1);
  EXPECT_EQ(asking->ask(parent(4, 1), stop_), nullptr) << "forgotten";
  EXPECT_EQ(asking->ask(parent(4, 0), stop_), nullptr) << "this rank's own";
  EXPECT_EQ(asking->ask(parent(4, 2), stop_), nullptr) << "of a job with more ranks";
  EXPECT_EQ(asking->ask(parent(4, -1), stop_), nullptr);
}

TEST_F(ParentExchangeTest, AnswersManySlotsOfBothRanks) {
  for (trial::TrialNumber trial = 0; trial < 8; ++trial) recent_[trial % 2]->keep(weights(trial, trial));
  const std::vector<std::unique_ptr<ParentExchange>> ranks = [&] {
    std::vector<std::unique_ptr<ParentExchange>> made;
    made.push_back(make(0));
    made.push_back(make(1));
    return made;
  }();
  std::vector<std::future<RecentWeights::File>> slots;
  for (trial::TrialNumber trial = 0; trial < 8; ++trial) {
    slots.push_back(std::async(std::launch::async, [&, trial] {
      const auto holder = static_cast<int>(trial % 2);
      return ranks[1 - trial % 2]->ask(parent(trial, holder), stop_);
    }));
  }
  for (std::size_t trial = 0; trial < slots.size(); ++trial) {
    const auto file = slots[trial].get();
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->tensors[0].values.size(), trial);
  }
}

TEST_F(ParentExchangeTest, AsksARankThatDoesNotAnswerNoMore) {
  const auto asking = make(0, 30ms);
  EXPECT_EQ(asking->ask(parent(4, 1), stop_), nullptr);
  recent_[1]->keep(weights(4, 10));
  recent_[1]->keep(weights(5, 10));
  const auto late = make(1);  // answers the first question now, which nobody asks any more
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(asking->ask(parent(5, 1), stop_), nullptr);
    std::this_thread::sleep_for(1ms);
  }
}

TEST_F(ParentExchangeTest, StopsWaitingWhenTheTrialIsToStop) {
  const auto asking = make(0);
  auto slot = std::async(std::launch::async, [&] { return asking->ask(parent(4, 1), stop_); });
  stop_ = true;
  EXPECT_EQ(slot.get(), nullptr);
}

/// Fails at the first look.
class DeadMailbox final : public comm::Mailbox {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::shared_ptr<comm::Buffer> acquire(std::size_t size) override { return pool_.acquire(size); }
  void send(std::shared_ptr<const comm::Buffer>, int) override {}
  std::optional<comm::Message> receive() override { throw InternalError("MPI_Improbe: link down"); }
  std::size_t unsent_bytes() const override { return 0; }
  void close() override {}

 private:
  comm::BufferPool pool_;
};

TEST_F(ParentExchangeTest, LeavesEverythingToFilesWhenTheChannelBreaks) {
  ParentExchange asking(std::make_unique<DeadMailbox>(), recent_[0], kForEver);
  EXPECT_EQ(asking.ask(parent(4, 1), stop_), nullptr);
}

/// Takes nothing.
class ClosedMailbox final : public comm::Mailbox {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::shared_ptr<comm::Buffer> acquire(std::size_t size) override { return pool_.acquire(size); }
  void send(std::shared_ptr<const comm::Buffer>, int) override {
    throw InternalError("MPI_Isend: link down");
  }
  std::optional<comm::Message> receive() override { return std::nullopt; }
  std::size_t unsent_bytes() const override { return 0; }
  void close() override {}

 private:
  comm::BufferPool pool_;
};

TEST_F(ParentExchangeTest, LeavesATrialWhoseQuestionCannotBeSentToTheFile) {
  ParentExchange asking(std::make_unique<ClosedMailbox>(), recent_[0], kForEver);
  EXPECT_EQ(asking.ask(parent(4, 1), stop_), nullptr);
  EXPECT_EQ(asking.ask(parent(5, 1), stop_), nullptr);
}

}  // namespace
}  // namespace skyline::engine

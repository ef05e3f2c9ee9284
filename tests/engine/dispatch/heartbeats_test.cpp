#include "engine/dispatch/failure_detector.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

constexpr double kLostAfter_s = 30;

struct Message {
  int from;
  std::vector<std::byte> bytes;
};
/// The messages that are on their way, by receiver.
using Letters = std::map<int, std::deque<Message>>;

class FakeLink final : public comm::Link {
 public:
  FakeLink(std::shared_ptr<Letters> messages, int rank) : letters_(std::move(messages)), rank_(rank) {}
  void send(int to, std::span<const std::byte> message) override {
    (*letters_)[to].push_back({rank_, {message.begin(), message.end()}});
  }
  std::optional<comm::LinkMessage> receive() override {
    auto& mine = (*letters_)[rank_];
    if (mine.empty()) return std::nullopt;
    last_ = std::move(mine.front());
    mine.pop_front();
    return comm::LinkMessage{last_.from, last_.bytes};
  }
  bool is_sent() const override { return true; }
  void close() override {}

 private:
  const std::shared_ptr<Letters> letters_;
  const int rank_;
  Message last_{};
};

/// The signs of three ranks.
class HeartbeatsTest : public ::testing::Test {
 protected:
  HeartbeatsTest() {
    const auto messages = std::make_shared<Letters>();
    for (int rank = 0; rank < 3; ++rank) {
      ranks_.push_back(std::make_unique<Heartbeats>(std::make_unique<FakeLink>(messages, rank), rank, 3, 0));
    }
  }
  Heartbeats& of(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  /// Lets time pass, in which these ranks do not look.
  void pass(double seconds, const std::set<int>& suspended = {}, bool listens = true) {
    for (const double end_s = now_s_ + seconds; now_s_ < end_s; now_s_ += 0.25) {
      for (int rank = 0; rank < 3; ++rank) {
        if (!suspended.contains(rank)) of(rank).exchange(now_s_, kLostAfter_s, listens);
      }
    }
  }
  /// Returns the rank that hangs, in the eyes of this rank; -1 if none does.
  int hung(int rank) { return of(rank).hung() ? of(rank).hung()->rank : -1; }

 private:
  std::vector<std::unique_ptr<Heartbeats>> ranks_;
  double now_s_ = 0;
};

TEST_F(HeartbeatsTest, BlameNobodyWhoLooks) {
  pass(10 * kLostAfter_s);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(hung(rank), -1);
}

TEST_F(HeartbeatsTest, NameARankThatIsSilentTooLongOnAllRanks) {
  pass(10);
  pass(kLostAfter_s - 2, {2});
  EXPECT_EQ(hung(0), -1);
  pass(5, {2});
  EXPECT_EQ(hung(0), 2);
  EXPECT_EQ(hung(1), 2);
  EXPECT_EQ(of(0).hung()->silent_s, kLostAfter_s);
  EXPECT_TRUE(of(0).leads());
  EXPECT_FALSE(of(1).leads());
}

TEST_F(HeartbeatsTest, NameASilentRankZeroAndLetRankOneLead) {
  pass(10);
  pass(kLostAfter_s + 3, {0});
  EXPECT_EQ(hung(1), 0);
  EXPECT_EQ(hung(2), 0);
  EXPECT_TRUE(of(1).leads());
  EXPECT_FALSE(of(2).leads());
}

TEST_F(HeartbeatsTest, WaitLessLongWhileAnyRankWantsToStop) {
  pass(10);
  of(1).stop();
  pass(18, {2});
  EXPECT_EQ(hung(0), 2);
  EXPECT_EQ(of(0).hung()->silent_s, 15);
  EXPECT_TRUE(of(0).stops());
  EXPECT_TRUE(of(0).hung()->stops);
  EXPECT_TRUE(of(1).hung()->stops);
}

TEST_F(HeartbeatsTest, KeepTheCauseOfTheEndWhenTheRankWakesUpAndIsToldToStop) {
  pass(10);
  pass(kLostAfter_s + 3, {0});
  of(0).stop();
  pass(5);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(hung(rank), 0);
    EXPECT_FALSE(of(rank).hung()->stops);
  }
}

TEST_F(HeartbeatsTest, BlameNobodyForASilenceThatDoesNotMatter) {
  pass(10);
  pass(3 * kLostAfter_s, {1, 2}, false);
  EXPECT_EQ(hung(0), -1);
  pass(kLostAfter_s - 2, {1, 2});
  EXPECT_EQ(hung(0), -1);
}

TEST_F(HeartbeatsTest, CountTheRanksThatHaveNotSaved) {
  pass(10);
  pass(kLostAfter_s + 3, {0});
  EXPECT_EQ(of(1).unsaved(), 2);
  of(2).tell_saved();
  pass(1, {0});
  EXPECT_EQ(of(1).unsaved(), 1);
  of(1).tell_saved();
  EXPECT_EQ(of(1).unsaved(), 0);
}

}  // namespace
}  // namespace skyline::engine

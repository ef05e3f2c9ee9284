#include "train/sharing/admission_gate.hpp"

#include "train/fake_device.hpp"
#include "train/inherit/recent_parents.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::FakeDevice;
using Manner = Candidate::Manner;

bool never() {
  return false;
}

/// Waits for what other threads bring about; fails the test if it does not come.
void await(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(condition());
}

/// A slot that asks for a candidate's permit and keeps it until told to leave.
class Slot {
 public:
  Slot(AdmissionGate& gate, const Candidate& candidate)
      : thread_([this, &gate, candidate] {
          AdmissionGate::Permit permit = gate.enter(candidate, [this] { return stop_.load(); });
          began_ = static_cast<bool>(permit);
          ended_ = !began_;
          while (began_ && !leave_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }) {}
  ~Slot() {
    stop();
    leave();
  }
  bool began() const { return began_; }
  bool was_stopped() const { return ended_; }
  void stop() { stop_ = true; }
  void leave() {
    leave_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> began_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> leave_{false};
  std::thread thread_;
};

/// A gate on a device of 1000 units, whose clock stands still: throughput decides nothing, 4 may train.
class AdmissionGateTest : public testing::Test {
 protected:
  std::unique_ptr<Slot> ask(std::size_t bytes, Manner manner = Manner::kShared) {
    const std::size_t before = gate_.running() + gate_.waiting();
    auto slot = std::make_unique<Slot>(gate_, Candidate{bytes, 1, manner});
    await([&] { return gate_.running() + gate_.waiting() == before + 1; });
    return slot;
  }

  FakeDevice device_{1000};
  AdmissionGate gate_{device_, 0, {16, [] { return 0.0; }}};
};

TEST_F(AdmissionGateTest, LetsCandidatesInWhileTheirPredictionsFit) {
  const auto first = ask(400);
  const auto second = ask(400);
  const auto third = ask(400);
  await([&] { return first->began() && second->began(); });
  EXPECT_FALSE(third->began());
  first->leave();
  await([&] { return third->began(); });
}

TEST_F(AdmissionGateTest, LetsOneInHoweverLargeItIs) {
  const auto first = ask(5000);
  await([&] { return first->began(); });
  const auto second = ask(10);
  EXPECT_EQ(gate_.waiting(), 1U);
  first->leave();
  await([&] { return second->began(); });
}

TEST_F(AdmissionGateTest, DoesNotLetSmallOnesOvertakeALargeOne) {
  const auto first = ask(300);
  const auto large = ask(900);
  const auto small = ask(10);
  EXPECT_EQ(gate_.running(), 1U);
  EXPECT_EQ(gate_.waiting(), 2U);
  first->leave();
  await([&] { return large->began() && small->began(); });
}

TEST_F(AdmissionGateTest, CountsWhatOtherProcessesUse) {
  const auto first = ask(100);
  device_.set_others(700);
  const auto second = ask(200);
  EXPECT_FALSE(second->began());
  device_.set_others(500);
  await([&] { return second->began(); });
}

TEST_F(AdmissionGateTest, FreesCachedMemoryBeforeACandidateWaits) {
  device_.take(800);
  device_.free(800);  // stays with the allocator
  const auto first = ask(100);
  const auto second = ask(500);
  await([&] { return second->began(); });
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
}

TEST_F(AdmissionGateTest, LetsNoMoreInThanTheThroughputAllows) {
  std::vector<std::unique_ptr<Slot>> slots;
  for (int i = 0; i < 6; ++i) slots.push_back(ask(1));
  EXPECT_EQ(gate_.limit(), 4U);
  EXPECT_EQ(gate_.running(), 4U);
  slots.front()->leave();
  await([&] { return slots[4]->began(); });
  EXPECT_FALSE(slots[5]->began());
}

TEST_F(AdmissionGateTest, LetsACandidateTrainAlone) {
  const auto first = ask(10);
  const auto second = ask(10);
  const auto alone = ask(10, Manner::kAlone);
  const auto later = ask(10);
  first->leave();
  EXPECT_FALSE(alone->began());
  second->leave();
  await([&] { return alone->began(); });
  EXPECT_EQ(gate_.waiting(), 1U);
  alone->leave();
  await([&] { return later->began(); });
}

TEST_F(AdmissionGateTest, LetsAGroupBeginWhenThoseThatTrainHaveEnded) {
  for (const Manner manner : {Manner::kShared, Manner::kAlone}) {
    const auto first = ask(10, manner);
    const auto later = ask(10, Manner::kAlone);
    {
      AdmissionGate::Permit member = gate_.enter({2000, 1, Manner::kGroup}, never);
      AdmissionGate::Permit another = gate_.enter({2000, 1, Manner::kGroup}, never);
      EXPECT_FALSE(member.may_begin_with_group());
      first->leave();
      await([&] { return member.may_begin_with_group(); });
      EXPECT_TRUE(another.may_begin_with_group());
      EXPECT_FALSE(later->began());
      EXPECT_TRUE(member.wait_for_quiet([] { return true; }));  // it has the device
    }
    await([&] { return later->began(); });
  }
}

TEST_F(AdmissionGateTest, FreesCachedMemoryBeforeAGroupBeginsAndNotWhileItTrains) {
  device_.take(100);
  device_.free(100);
  AdmissionGate::Permit member = gate_.enter({10, 1, Manner::kGroup}, never);
  EXPECT_TRUE(member.may_begin_with_group());
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
  device_.before_release = [] { ADD_FAILURE() << "a group trains"; };
  AdmissionGate::Permit another = gate_.enter({10, 1, Manner::kGroup}, never);
  EXPECT_TRUE(another.may_begin_with_group());
  member.worked(100);
  another.worked(100);
  for (const Manner manner : {Manner::kShared, Manner::kAlone}) {
    int polls = 0;
    EXPECT_FALSE(gate_.enter({2000, 1, manner}, [&] { return ++polls > 2; }));
  }
}

TEST_F(AdmissionGateTest, FreesMemoryWithItsMutexReleased) {
  std::vector<std::size_t> running;
  device_.before_release = [&] { running.push_back(gate_.running()); };
  {
    AdmissionGate::Permit alone = gate_.enter({10, 1, Manner::kAlone}, never);
    alone.worked(100);  // is measured
    int polls = 0;
    EXPECT_FALSE(gate_.enter({10, 1}, [&] { return ++polls > 2; }));
  }
  AdmissionGate::Permit first = gate_.enter({10, 1}, never);
  int polls = 0;
  EXPECT_FALSE(gate_.enter({50000, 1}, [&] { return ++polls > 2; }));
  EXPECT_EQ(running, (std::vector<std::size_t>{0, 1, 1}));
}

TEST_F(AdmissionGateTest, LetsNoGroupBeginWhileMemoryIsFreed) {
  AdmissionGate::Permit group;
  device_.before_release = [&] {
    if (group) return;
    group = gate_.enter({10, 1, Manner::kGroup}, never);
    EXPECT_FALSE(group.may_begin_with_group());
  };
  int polls = 0;
  EXPECT_FALSE(gate_.enter({10, 1, Manner::kAlone}, [&] { return ++polls > 2; }));
  EXPECT_TRUE(group.may_begin_with_group());
}

TEST_F(AdmissionGateTest, KeepsOthersOutWhileACandidateWantsQuiet) {
  AdmissionGate::Permit measured = gate_.enter({10, 1}, never);
  const auto other = ask(10);
  std::atomic<int> polls = 0;
  EXPECT_FALSE(measured.wait_for_quiet([&] { return ++polls > 2; }));
  const auto next = ask(10);
  await([&] { return next->began(); });  // it has given up
  polls = 0;
  std::thread measurement([&] {
    EXPECT_TRUE(measured.wait_for_quiet([&] {
      ++polls;
      return false;
    }));
  });
  await([&] { return polls > 0; });
  const auto later = ask(10);
  EXPECT_EQ(gate_.waiting(), 1U);
  other->leave();
  next->leave();
  measurement.join();
  EXPECT_EQ(gate_.running(), 1U);
  EXPECT_FALSE(later->began());
  measured.resume();
  await([&] { return later->began(); });
}

TEST_F(AdmissionGateTest, GivesQuietToOneAfterTheOther) {
  AdmissionGate::Permit first = gate_.enter({10, 1}, never);
  std::atomic<int> polls = 0;
  std::atomic<bool> measures = false;
  std::thread second([&] {
    AdmissionGate::Permit permit = gate_.enter({10, 1}, never);
    EXPECT_TRUE(permit.wait_for_quiet([&] {
      ++polls;
      return false;
    }));
    measures = true;
  });
  await([&] { return polls > 0; });
  EXPECT_TRUE(first.wait_for_quiet(never));  // the other one waits, too
  const int before = polls;
  await([&] { return polls > before + 2; });
  first.resume();  // it works again
  await([&] { return polls > before + 4; });
  EXPECT_FALSE(measures);
  first = {};
  second.join();
  EXPECT_TRUE(measures);
}

TEST_F(AdmissionGateTest, ExpectsMoreAfterACandidateRanOutOfMemoryBesideOthersOnly) {
  gate_.enter({300, 1}, never).ran_out_of_memory();
  const auto fits = [&] {
    const AdmissionGate::Permit first = gate_.enter({400, 1}, never);
    int polls = 0;
    return static_cast<bool>(gate_.enter({400, 1}, [&] { return ++polls > 2; }));
  };
  EXPECT_TRUE(fits());
  AdmissionGate::Permit first = gate_.enter({300, 1}, never);
  gate_.enter({300, 1}, never).ran_out_of_memory();
  first = {};
  EXPECT_FALSE(fits());  // 600 each
}

TEST_F(AdmissionGateTest, LetsAWaitingSlotStop) {
  const auto first = ask(900);
  const auto second = ask(900);
  const auto third = ask(50);
  second->stop();
  await([&] { return second->was_stopped(); });
  await([&] { return third->began(); });  // its turn has come
}

TEST_F(AdmissionGateTest, LeavesTheQueueWhenTheDeviceFails) {
  const auto first = ask(900);
  device_.fail_from_now_on();
  EXPECT_THROW(gate_.enter({900, 1}, never), InternalError);
  EXPECT_EQ(gate_.waiting(), 0U);
}

TEST_F(AdmissionGateTest, CorrectsPredictionsByWhatCandidatesTake) {
  {
    AdmissionGate::Permit permit = gate_.enter({100, 1}, never);
    device_.take(300);
    permit.worked(100);
    device_.free(300);
  }
  const auto first = ask(200);  // 600 by now
  const auto second = ask(200);
  EXPECT_EQ(gate_.running(), 1U);
  EXPECT_FALSE(second->began());
}

TEST_F(AdmissionGateTest, CountsTheMemoryOfSettledCandidatesOnce) {
  AdmissionGate::Permit settled = gate_.enter({450, 1}, never);
  device_.take(450);
  const auto second = ask(400);  // 450 are taken, 450 are expected, 400 more asked for
  EXPECT_FALSE(second->began());
  settled.worked(100);
  await([&] { return second->began(); });
  device_.free(450);
}

/// With what parents left on the device.
class AdmissionGateWithParents : public AdmissionGateTest {
 protected:
  /// Takes memory until it is let go.
  void keep_parent(std::size_t bytes) {
    device_.take(bytes);
    parents_.keep(std::shared_ptr<const TrainedTensors>(new TrainedTensors{bytes, nullptr, {}, bytes},
                                                        [this](const TrainedTensors* left) {
                                                          device_.free(left->bytes);
                                                          delete left;
                                                        }));
  }
  bool let_in_beside(std::size_t running_bytes, const Candidate& candidate) {
    const AdmissionGate::Permit first = with_parents_.enter({running_bytes, 1}, never);
    int polls = 0;
    return static_cast<bool>(with_parents_.enter(candidate, [&] { return ++polls > 2; }));
  }

  RecentParents parents_{1000};
  AdmissionGate with_parents_{device_, 0, {16, [] { return 0.0; }, &parents_}};
};

TEST_F(AdmissionGateWithParents, LetsThemGoBeforeACandidateWaits) {
  keep_parent(300);
  EXPECT_TRUE(let_in_beside(300, {500, 1}));
  EXPECT_EQ(parents_.bytes(), 0U);
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
}

TEST_F(AdmissionGateWithParents, KeepsThemWhereOtherCachedMemoryIsEnough) {
  keep_parent(300);
  device_.take(500);
  device_.free(500);  // stays with the allocator
  EXPECT_TRUE(let_in_beside(200, {300, 1}));
  EXPECT_EQ(parents_.bytes(), 300U);
}

TEST_F(AdmissionGateWithParents, LetsThemGoForACandidateThatTrainsAlone) {
  keep_parent(300);
  const AdmissionGate::Permit alone = with_parents_.enter({10, 1, Manner::kAlone}, never);
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
}

TEST_F(AdmissionGateWithParents, LetsThemGoForAGroupThatNeedsTheRoom) {
  keep_parent(300);
  for (const std::size_t bytes : {600U, 700U}) {
    EXPECT_EQ(parents_.bytes(), 300U);
    AdmissionGate::Permit member = with_parents_.enter({bytes, 1, Manner::kGroup}, never);
    EXPECT_TRUE(member.may_begin_with_group());
  }
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
}

TEST_F(AdmissionGateWithParents, DoesNotTakeThemForMemoryOfCandidates) {
  keep_parent(400);
  {
    AdmissionGate::Permit permit = with_parents_.enter({100, 1}, never);
    device_.take(100);
    permit.worked(100);
    device_.free(100);
  }
  device_.release_cached_memory(0);
  EXPECT_TRUE(let_in_beside(100, {400, 1}));  // corrected to 500 and 2000, the two would not fit
  EXPECT_EQ(parents_.bytes(), 400U);
}

/// Each candidate at the same speed, however many there are.
TEST(AdmissionGate, RaisesItsLimitWhenMoreCandidatesDoMoreWork) {
  FakeDevice device(1000);
  std::atomic<double> now_s{0};
  AdmissionGate gate(device, 0, {8, [&] { return now_s.load(); }});
  std::atomic<bool> stop{false};
  std::vector<std::thread> slots;
  for (int i = 0; i < 8; ++i) {
    slots.emplace_back([&] {
      AdmissionGate::Permit permit = gate.enter({1, 1}, [&] { return stop.load(); });
      while (permit && !stop) {
        permit.worked(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  std::thread clock([&] {
    while (!stop) {
      now_s = now_s + 0.005;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  await([&] { return gate.running() == 8; });
  EXPECT_EQ(gate.limit(), 8U);
  stop = true;
  clock.join();
  for (std::thread& slot : slots) slot.join();
}

}  // namespace
}  // namespace skyline::train

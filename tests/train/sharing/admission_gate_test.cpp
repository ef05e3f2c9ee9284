#include "train/sharing/admission_gate.hpp"

#include "train/fixtures/fake_device.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::FakeDevice;
using Manner = AdmissionRequest::Manner;

bool never() {
  return false;
}

/// Waits for what other threads bring about; fails the test if it does not come.
void await(const std::function<bool()>& condition) {
  for (int i = 0; i < 60'000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(condition());
}

/// A slot that asks for a trial's permit and keeps it until told to leave.
class Slot {
 public:
  Slot(AdmissionGate& gate, const AdmissionRequest& request)
      : thread_([this, &gate, request] {
          AdmissionGate::Permit permit = gate.enter(request, [this] { return stop_.load(); });
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

/// A gate on a device of 1000 units.
class AdmissionGateTest : public ::testing::Test {
 protected:
  std::unique_ptr<Slot> ask(std::size_t bytes, Manner manner = Manner::kShared) {
    const std::size_t before = gate_.running() + gate_.waiting();
    auto slot = std::make_unique<Slot>(gate_, AdmissionRequest{bytes, manner});
    await([&] { return gate_.running() + gate_.waiting() == before + 1; });
    return slot;
  }

  FakeDevice device_{1000};
  AdmissionGate gate_{device_, 0};
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
  device_.allocate(800);
  device_.free(800);  // stays with the allocator
  const auto first = ask(100);
  const auto second = ask(500);
  await([&] { return second->began(); });
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
}

TEST_F(AdmissionGateTest, LetsNoMoreInThanADeviceGainsFrom) {
  std::vector<std::unique_ptr<Slot>> slots;
  for (std::size_t i = 0; i < kMostOnDevice + 2; ++i) slots.push_back(ask(1));
  EXPECT_EQ(gate_.running(), kMostOnDevice);
  slots.front()->leave();
  await([&] { return slots[kMostOnDevice]->began(); });
  EXPECT_FALSE(slots.back()->began());
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
      AdmissionGate::Permit member = gate_.enter({2000, Manner::kGroup}, never);
      AdmissionGate::Permit another = gate_.enter({2000, Manner::kGroup}, never);
      EXPECT_FALSE(member.may_begin_with_group());
      first->leave();
      await([&] { return member.may_begin_with_group(); });
      EXPECT_TRUE(another.may_begin_with_group());
      EXPECT_FALSE(later->began());
      bool measured = false;
      member.measure_alone([&] { measured = true; });  // it has the device
      EXPECT_TRUE(measured);
    }
    await([&] { return later->began(); });
  }
}

TEST_F(AdmissionGateTest, FreesCachedMemoryBeforeAGroupBeginsAndNotWhileItTrains) {
  device_.allocate(100);
  device_.free(100);
  AdmissionGate::Permit member = gate_.enter({10, Manner::kGroup}, never);
  EXPECT_TRUE(member.may_begin_with_group());
  EXPECT_EQ(device_.memory(0).reserved_bytes, 0U);
  device_.before_release = [] { ADD_FAILURE() << "a group trains"; };
  AdmissionGate::Permit another = gate_.enter({10, Manner::kGroup}, never);
  EXPECT_TRUE(another.may_begin_with_group());
  for (const Manner manner : {Manner::kShared, Manner::kAlone}) {
    int polls = 0;
    EXPECT_FALSE(gate_.enter({2000, manner}, [&] { return ++polls > 2; }));
  }
}

TEST_F(AdmissionGateTest, FreesMemoryForOneAloneAndForOneThatFindsItInTheCache) {
  int releases = 0;
  device_.before_release = [&] { ++releases; };
  { const AdmissionGate::Permit alone = gate_.enter({10, Manner::kAlone}, never); }
  EXPECT_EQ(releases, 1);
  AdmissionGate::Permit first = gate_.enter({10}, never);
  device_.allocate(900);
  device_.free(900);  // stays with the allocator
  EXPECT_TRUE(gate_.enter({500}, never));
  EXPECT_EQ(releases, 2);
}

TEST_F(AdmissionGateTest, LetsNoGroupBeginWhileMemoryIsFreed) {
  std::atomic<bool> is_freed = false;
  std::future<void> group;
  device_.before_release = [&] {
    if (group.valid()) return;
    group = std::async(std::launch::async, [&] {
      AdmissionGate::Permit member = gate_.enter({10, Manner::kGroup}, never);
      await([&] { return member.may_begin_with_group(); });
      EXPECT_TRUE(is_freed);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_freed = true;
  };
  { const AdmissionGate::Permit alone = gate_.enter({10, Manner::kAlone}, never); }
  group.get();
}

TEST_F(AdmissionGateTest, MakesOthersPauseForAMeasurementAndNotEnd) {
  AdmissionGate::Permit measured = gate_.enter({10}, never);
  std::atomic<bool> works = false;
  std::atomic<bool> measures = false;
  std::atomic<bool> has_measured = false;
  std::atomic<bool> pauses = false;
  std::thread neighbour([&] {
    AdmissionGate::Permit other = gate_.enter({10}, never);
    other.let_others_measure();  // nobody does
    works = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(measures);  // it works, and has not paused
    pauses = true;
    await([&] {
      other.let_others_measure();
      return has_measured.load();
    });
  });
  await([&] { return works.load(); });
  std::unique_ptr<Slot> later;
  measured.measure_alone([&] {
    measures = true;
    EXPECT_TRUE(pauses);
    later = ask(10);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(later->began());
    EXPECT_EQ(gate_.running(), 2U);
    has_measured = true;
  });
  neighbour.join();
  await([&] { return later->began(); });
}

TEST_F(AdmissionGateTest, LetsOneMeasureAfterTheOther) {
  std::atomic<int> measuring = 0;
  std::atomic<int> measured = 0;
  std::vector<std::thread> slots;
  for (int i = 0; i < 4; ++i) {
    slots.emplace_back([&] {
      AdmissionGate::Permit permit = gate_.enter({10}, never);
      await([&] { return gate_.running() == 4; });
      permit.measure_alone([&] {
        EXPECT_EQ(++measuring, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        --measuring;
      });
      ++measured;
      await([&] {
        permit.let_others_measure();
        return measured == 4;
      });
    });
  }
  for (std::thread& slot : slots) slot.join();
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
  EXPECT_THROW(gate_.enter({900}, never), InternalError);
  EXPECT_EQ(gate_.waiting(), 0U);
}

TEST_F(AdmissionGateTest, CountsTheMemoryOfRunningCandidatesOnce) {
  const AdmissionGate::Permit first = gate_.enter({450}, never);
  device_.allocate(450);
  const auto second = ask(400);
  await([&] { return second->began(); });
  const auto third = ask(200);
  EXPECT_FALSE(third->began());
  device_.free(450);
}

TEST_F(AdmissionGateTest, LetsNobodyInWhereCandidatesTookMoreThanExpected) {
  const AdmissionGate::Permit first = gate_.enter({100}, never);
  device_.allocate(900);
  const auto second = ask(200);
  EXPECT_FALSE(second->began());
  device_.free(900);
}

}  // namespace
}  // namespace skyline::train

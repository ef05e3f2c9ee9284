#include "train/sharing/concurrency_controller.hpp"

#include "skyline/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

/// A device with as many candidates as it is allowed, whose work a second depends on how many they are. Each
/// tells of its work ten times in 0.2 s.
class SimulatedDevice {
 public:
  using Curve = std::function<double(std::size_t running)>;

  SimulatedDevice(std::size_t most, Curve rate) : controller_(most), rate_(std::move(rate)) {}

  void run(double seconds) {
    const double end_s = now_s_ + seconds;
    while (now_s_ < end_s) {
      const std::size_t running = std::min(controller_.limit(), candidates_);
      controller_.running(now_s_, running);
      now_s_ += 0.02;
      const double work = 0.02 * rate_(running) / static_cast<double>(std::max<std::size_t>(1, running));
      for (std::size_t i = 0; i < running; ++i) controller_.worked(now_s_, work);
      work_ += 0.02 * rate_(running);
      history_.push_back(controller_.limit());
    }
  }

  std::size_t limit() const { return controller_.limit(); }
  double work() const { return work_; }
  /// The limit that held for the most time of the last `seconds`.
  std::size_t usual_limit(double seconds) const {
    std::vector<std::size_t> last(history_.end() - static_cast<std::ptrdiff_t>(seconds / 0.02),
                                  history_.end());
    std::nth_element(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2), last.end());
    return last[last.size() / 2];
  }
  std::size_t highest_limit() const { return *std::max_element(history_.begin(), history_.end()); }
  void set_curve(Curve rate) { rate_ = std::move(rate); }
  void set_candidates(std::size_t candidates) { candidates_ = candidates; }

 private:
  ConcurrencyController controller_;
  Curve rate_;
  std::size_t candidates_ = 1000;
  double now_s_ = 0;
  double work_ = 0;
  std::vector<std::size_t> history_;
};

double saturating(std::size_t running, std::size_t at) {
  return 1000.0 * static_cast<double>(std::min(running, at));
}

TEST(ConcurrencyController, GoesToTheMostThatSlotsOfferWhileEachOneAdds) {
  SimulatedDevice device(16, [](std::size_t n) { return saturating(n, 100); });
  device.run(3);
  EXPECT_EQ(device.limit(), 16U);
  device.run(600);
  EXPECT_EQ(device.usual_limit(600), 16U);
}

TEST(ConcurrencyController, StopsWhereTheSumStopsToGrow) {
  for (const std::size_t knee : {1U, 2U, 3U, 5U, 8U, 11U, 13U}) {
    SimulatedDevice device(16, [knee](std::size_t n) { return saturating(n, knee); });
    device.run(200);
    device.run(200);
    EXPECT_EQ(device.usual_limit(200), knee);
  }
}

TEST(ConcurrencyController, StaysNearThePeakOfASumThatFallsAgain) {
  const auto peaked = [](std::size_t n) {
    const auto x = static_cast<double>(n);
    return 1000 * x / (1 + 0.02 * x * x);  // highest at 7
  };
  SimulatedDevice device(16, peaked);
  device.run(400);
  const double before = device.work();
  device.run(400);
  EXPECT_GT(device.work() - before, 0.97 * 400 * peaked(7));
}

TEST(ConcurrencyController, FindsAGoodNumberThroughNoise) {
  RandomStream random(3);
  SimulatedDevice device(16, [&](std::size_t n) {
    const double noise = 0.9 + 0.2 * static_cast<double>(random.below(1000)) / 1000;  // of 20 ms
    return saturating(n, 8) * noise;
  });
  device.run(200);
  const double before = device.work();
  device.run(400);
  EXPECT_GT(device.work() - before, 0.95 * 400 * 8000);
  EXPECT_LE(device.usual_limit(400), 10U);
}

TEST(ConcurrencyController, FollowsADeviceThatBecomesSlowerAndFasterAgain) {
  const auto busy = [](std::size_t n) { return 0.4 * saturating(n, 4); };
  const auto idle = [](std::size_t n) { return saturating(n, 12); };
  SimulatedDevice device(16, idle);
  device.run(100);
  EXPECT_EQ(device.usual_limit(20), 12U);
  device.set_curve(busy);
  device.run(300);
  EXPECT_LE(device.usual_limit(20), 5U);
  device.set_curve(idle);
  device.run(1200);
  EXPECT_GE(device.usual_limit(20), 11U);
}

TEST(ConcurrencyController, TakesNoDecisionWhileTooFewCandidatesAsk) {
  SimulatedDevice device(16, [](std::size_t n) { return saturating(n, 100); });
  device.set_candidates(2);
  device.run(100);
  EXPECT_EQ(device.highest_limit(), 4U);
  device.set_candidates(100);
  device.run(3);
  EXPECT_EQ(device.limit(), 16U);
}

TEST(ConcurrencyController, GivesUpATrialOfALimitThatCandidatesDoNotFill) {
  SimulatedDevice device(16, [](std::size_t n) { return saturating(n, 100); });
  device.set_candidates(5);
  device.run(60);
  EXPECT_LE(device.usual_limit(50), 8U);
}

TEST(ConcurrencyController, NeverExceedsTheMost) {
  for (const std::size_t most : {1U, 2U, 3U, 6U}) {
    SimulatedDevice device(most, [](std::size_t n) { return saturating(n, 100); });
    device.run(100);
    EXPECT_EQ(device.highest_limit(), most);
  }
}

}  // namespace
}  // namespace skyline::train

#include "skyline/core/error.hpp"

#include "comm/environment.hpp"
#include "engine/dispatch/rank_table.hpp"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

class EvaluatorOfSlots final : public trial::Evaluator {
 public:
  explicit EvaluatorOfSlots(std::size_t slots) : slots_(slots) {}
  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }
  std::size_t slots() const override { return slots_; }
  trial::Outcome evaluate(const trial::Trial& /*trial*/, trial::EvaluationContext& /*context*/) override {
    return trial::Measurements{{0}};
  }

 private:
  std::size_t slots_;
};

class OwnSlots : public ::testing::Test {
 protected:
  std::size_t slots(std::size_t wanted, std::optional<std::size_t> asked_for, int threads = 1) {
    EvaluatorOfSlots evaluator(wanted);
    EngineOptions options;
    options.slots = asked_for;
    options.threads_per_slot = threads;
    return own_slots(environment_->world(), environment_->place().processors.size(), options, evaluator);
  }

  std::unique_ptr<comm::Environment> environment_ = comm::make_local_environment();
};

TEST_F(OwnSlots, AreAsManyAsTheProcessorsAllow) {
  const std::size_t processors = environment_->place().processors.size();
  EXPECT_EQ(slots(0, std::nullopt), processors);
  EXPECT_EQ(slots(0, std::nullopt, 2), std::max<std::size_t>(1, processors / 2));
  EXPECT_EQ(slots(0, std::nullopt, 1000), 1U);
}

TEST(ThinkThreads, AreThoseOfTheSlotsThatWait) {
  const auto threads = [](std::size_t own, std::size_t slots, std::size_t under_way) {
    return think_threads({}, {.own = own, .allowed = 64, .slots = slots, .under_way = under_way});
  };
  EXPECT_EQ(threads(8, 8, 0), 8U);
  EXPECT_EQ(threads(8, 8, 5), 3U);
  EXPECT_EQ(threads(8, 8, 8), 1U);
  EXPECT_EQ(threads(8, 8, 11), 1U);  // trials whose files are being written
  EXPECT_EQ(threads(8, 2, 1), 4U);
  EXPECT_EQ(threads(1, 4, 0), 1U);  // a rank that is bound to one processor
  EXPECT_EQ(threads(8, 0, 0), 8U);  // it only coordinates
}

TEST(ThinkThreads, AreAsManyAsWantedWithinWhatTheProcessMayUse) {
  EngineOptions options;
  options.think_threads = 6;
  EXPECT_EQ(think_threads(options, {.own = 2, .allowed = 16, .slots = 2, .under_way = 2}), 6U);
  EXPECT_EQ(think_threads(options, {.own = 2, .allowed = 2, .slots = 2, .under_way = 0}), 2U);
  options.processor_quota = 2.5;
  EXPECT_EQ(think_threads(options, {.own = 16, .allowed = 16, .slots = 16, .under_way = 0}), 2U);
  options.processor_quota = 0.5;
  EXPECT_EQ(think_threads(options, {.own = 16, .allowed = 16, .slots = 16, .under_way = 0}), 1U);
}

TEST_F(OwnSlots, AreAsManyAsAnEvaluatorWantsThatSharesADevice) {
  EXPECT_EQ(slots(16, std::nullopt), 16U);
  EXPECT_EQ(slots(16, std::nullopt, 1000), 16U);
}

TEST_F(OwnSlots, AreAsManyAsAskedForInAnyCase) {
  EXPECT_EQ(slots(0, 3), 3U);
  EXPECT_EQ(slots(16, 3), 3U);
  EXPECT_THROW(slots(16, 0), UserError);
}

}  // namespace
}  // namespace skyline::engine

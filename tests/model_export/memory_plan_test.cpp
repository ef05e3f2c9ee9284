// Plans of memory against the tensors that exist at once.
#include "model_export/tflite/memory_plan.hpp"

#include "skyline/core/random_engine.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace skyline::model_export {
namespace {

TEST(MemoryPlan, FindsWhatTheLargestTensorFirstMisses) {
  const MemoryPlan plan = memory_plan({{100, 0, 1}, {90, 1, 2}, {50, 2, 3}, {95, 3, 4}});
  EXPECT_EQ(plan.bytes, 190) << "100 and 90 exist at once; 95 at 0 leaves 5 for 50 below 90";
}

TEST(MemoryPlan, KeepsTensorsApartThatExistAtOnce) {
  RandomEngine random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<TensorLife> lives;
    for (std::size_t i = 0; i < 40; ++i) lives.push_back({1 + random.below(99), i, i + random.below(6)});
    const MemoryPlan plan = memory_plan(lives);
    for (std::size_t i = 0; i < lives.size(); ++i) {
      EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
      for (std::size_t other = 0; other < i; ++other) {
        const bool apart = plan.offsets[i] + lives[i].bytes <= plan.offsets[other] ||
                           plan.offsets[other] + lives[other].bytes <= plan.offsets[i];
        EXPECT_TRUE(apart || lives[other].last < lives[i].first) << i << " and " << other;
      }
    }
  }
}

}  // namespace
}  // namespace skyline::model_export

#include "report/files/answers.hpp"
#include "report/sample_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LatencyJson, IsReadBackRoundByRound) {
  const skyline::testing::SampleFolder folder;
  EXPECT_THAT(read_latencies(folder.paths()), IsEmpty()) << "there is no file";
  write_latencies(folder.paths(), {{7, {0.5, 0.25}}, {3, {2}}});
  const std::vector<FrontLatency> found = read_latencies(folder.paths());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].trial, 7U);
  EXPECT_THAT(found[0].rounds_ms, ElementsAre(0.5, 0.25));
  EXPECT_EQ(found[0].least_ms(), 0.25);
  EXPECT_EQ(found[1].trial, 3U);
}

TEST(LatencyJson, IsNoneIfTheFileIsDamaged) {
  const skyline::testing::SampleFolder folder;
  for (const char* text : {"[", "3", R"([{"trial": 1}])", R"([{"trial": 1, "rounds_ms": []}])"}) {
    folder.write(folder.paths().latency_json(), text);
    EXPECT_THAT(read_latencies(folder.paths()), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace skyline::report

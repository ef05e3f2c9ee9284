#include "report/text/run_status.hpp"

#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(RunStatus, ReadsBackWhatItWrote) {
  RunStatus status;
  status.state = "stopped";
  status.phase = "final";
  status.done = 3;
  status.expected = 9;
  status.committed = 77;
  status.in_flight = 2;
  status.failed = 1;
  status.front = 9;
  status.best = {{"test_accuracy", 0.97}, {"flops", 88138}};
  status.replayed = 5;
  status.slots = 4;
  status.ranks = 2;
  status.nodes = 1;
  status.elapsed_s = 12.5;
  status.eta_s = 30.25;
  status.updated = 1.7e9;
  status.recent = {"trial 1 committed", "a \"quoted\" line"};
  EXPECT_EQ(RunStatus::parse(status.to_json(), "status.json"), status);

  status.eta_s.reset();
  status.ending = JobEnding{"812_3", 2, 76};
  EXPECT_EQ(RunStatus::parse(status.to_json(), "status.json"), status);
}

TEST(RunStatus, RefusesATextThatIsNoStatusAndNamesTheFile) {
  const auto parse = [](const std::string& text) {
    return testing::user_error_of([&] { RunStatus::parse(text, "runs/x/status.json"); });
  };
  EXPECT_THAT(parse("{"), ::testing::StartsWith("runs/x/status.json: expected the status of a run, got "));
  EXPECT_THAT(parse("{\"state\": 3}"),
              ::testing::StartsWith("runs/x/status.json: expected the status of a run"));
  EXPECT_THAT(parse("[]"), ::testing::StartsWith("runs/x/status.json: expected the status of a run"));
}

TEST(RunStatus, RefusesNumbersThatNoRunHas) {
  RunStatus status;
  status.done = 33;
  status.elapsed_s = 12.5;
  const std::string text = status.to_json();
  const auto error_with = [&](const std::string& found, const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find(found), found.size(), other);
    return testing::user_error_of([&] { RunStatus::parse(changed, "status.json"); });
  };
  for (const std::string number : {"-1", "1e300", "123456789012345678901234567890"}) {
    EXPECT_THAT(error_with("33", number),
                ::testing::StartsWith("status.json: expected the status of a run, got "));
    EXPECT_THAT(error_with("12.5", number),
                ::testing::StartsWith("status.json: expected the status of a run, got "));
  }
}

TEST(RunStatus, RefusesNestingWithoutEnd) {
  EXPECT_THAT(testing::user_error_of([&] { RunStatus::parse(std::string(3'000'000, '['), "status.json"); }),
              ::testing::StartsWith("status.json: expected the status of a run"));
}

}  // namespace
}  // namespace skyline::report

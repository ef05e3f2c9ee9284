#include "evaluate/command/trial_decisions.hpp"

#include "core/system/temporary_folder.hpp"
#include "store/publish/publish.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

/// Wants a trial to end whose accuracy is below 50.
class EndsBadOnes final : public trial::TrialPruning {
 public:
  std::span<const Decision> decisions() const override { return decisions_; }
  std::vector<std::string> compared() const override { return {"accuracy"}; }
  bool decide(const trial::CurvePoint& point) override {
    decisions_.push_back({point.step, point.values.empty() || point.values.front().value < 50});
    return decisions_.back().stop;
  }

 private:
  std::vector<Decision> decisions_;
};

class DecisionsOfATrial : public ::testing::Test {
 protected:
  DecisionsOfATrial() { trial_.bars = {{1, {}}, {3, {}}}; }
  void report(std::string_view text) { reports_.feed(text, ReportChannel::kDescriptor); }
  std::string text() const { return store::read_file(file_); }

  trial::Trial trial_;
  EndsBadOnes pruning_;
  ReportReader reports_{{{.name = "accuracy"}}, false};
  TemporaryFolder folder_{std::filesystem::temp_directory_path(), "decisions"};
  std::filesystem::path file_ = folder_.path() / "decisions.jsonl";
};

TEST_F(DecisionsOfATrial, AreLinesOfAFile) {
  TrialDecisions decisions(trial_, &pruning_, file_, reports_);
  decisions.write();
  const std::string first = "{\"at\":[1,3],\"of\":[\"accuracy\"]}\n";
  EXPECT_EQ(text(), first);
  report("{\"step\": 1, \"accuracy\": 90}\n{\"step\": 2, \"accuracy\": 10}\n");
  decisions.decide();
  EXPECT_EQ(text(), first + "{\"step\":1,\"stop\":false}\n");
  EXPECT_EQ(decisions.unreported(), "it reported no step 3");
  report("{\"step\": 3, \"loss\": 2}\n");
  EXPECT_EQ(decisions.unreported(), "step 3 has no `accuracy`");
  report("{\"step\": 3, \"accuracy\": 20}\n");
  decisions.decide();
  EXPECT_EQ(text(), first + "{\"step\":1,\"stop\":false}\n{\"step\":3,\"stop\":true}\n");
  EXPECT_EQ(decisions.unreported(), "");
}

TEST_F(DecisionsOfATrial, EndItIfItWasToldToEndAndReportsNoResult) {
  TrialDecisions decisions(trial_, &pruning_, file_, reports_);
  EXPECT_FALSE(decisions.ended_trial());
  report("{\"step\": 1, \"accuracy\": 10}\n");
  EXPECT_TRUE(decisions.ended_trial());
  report("{\"step\": 2, \"accuracy\": 20}\n");
  EXPECT_TRUE(decisions.ended_trial()) << "it heard of it an epoch later";
}

TEST_F(DecisionsOfATrial, DoNotEndOneThatReportsAResult) {
  for (const std::string_view steps :
       {"{\"step\": 3, \"accuracy\": 10}\n", "{\"step\": 1, \"accuracy\": 10}\n"}) {
    ReportReader reports{{{.name = "accuracy"}}, false};
    TrialDecisions decisions(trial_, &pruning_, file_, reports);
    reports.feed(steps, ReportChannel::kDescriptor);
    reports.feed("{\"result\": {\"accuracy\": 90}}", ReportChannel::kDescriptor);
    EXPECT_FALSE(decisions.ended_trial()) << "it never asked, so it has run on: " << steps;
  }
}

TEST_F(DecisionsOfATrial, DoNotHideAMistakeInAReport) {
  TrialDecisions decisions(trial_, &pruning_, file_, reports_);
  report("{\"step\": 1, \"accuracy\": 10}\n{\"step\"\n");
  EXPECT_FALSE(decisions.ended_trial());
}

TEST_F(DecisionsOfATrial, AreNotMadeOfATrialThatIsNotCompared) {
  TrialDecisions decisions(trial_, nullptr, file_, reports_);
  decisions.write();
  report("{\"step\": 1, \"accuracy\": 10}\n");
  decisions.decide();
  EXPECT_FALSE(decisions.are_made());
  EXPECT_FALSE(decisions.ended_trial());
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace skyline::evaluate

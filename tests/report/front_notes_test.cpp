#include "report/text/front_notes.hpp"

#include "report/sample_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

void add_repeat(testing::SampleRun& run, std::size_t of, std::uint32_t repeat, trial::Outcome outcome) {
  trial::CommittedTrial again = run.committed[of];
  again.trial.proposal.final_repeat = repeat;
  again.outcome = std::move(outcome);
  run.committed.push_back(again);
}

TEST(FrontNotes, SayThatNoDeviationIsKnownWithoutRepeats) {
  testing::SampleRun run;
  EXPECT_THAT(front_notes(run.inputs()),
              StartsWith("Full trainings were not repeated, so no deviation is known "
                         "(`final.repeats: 3` would tell it).\n"));
  run.committed.resize(4);
  EXPECT_THAT(front_notes(run.inputs()), IsEmpty()) << "nothing was trained in full";
}

TEST(FrontNotes, SayOfHowManyRepeatsTheValuesAreMeansAndWhichFailed) {
  testing::SampleRun run;
  add_repeat(run, 4, 1, trial::Measurements{{0.97, 4.5, 0.95, 840}});
  EXPECT_THAT(
      front_notes(run.inputs()),
      StartsWith("Full trainings: means of 1 to 2 repeats, in brackets the standard deviation; trial 0: "
                 "1 of 1 failed (not in its mean).\n"));
  add_repeat(run, 5, 1, trial::Measurements{{0.5, 1, 0.5, 840}});
  EXPECT_THAT(
      front_notes(run.inputs()),
      StartsWith("Full trainings: means of 2 repeats, in brackets the standard deviation; trial 0: 1 of 2 "
                 "failed (not in its mean).\n"));
}

}  // namespace
}  // namespace skyline::report

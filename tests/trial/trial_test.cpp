#include "skyline/trial/trial.hpp"

#include "support/user_error_of.hpp"

#include <gtest/gtest.h>

namespace skyline::trial {
namespace {

using testing::user_error_of;

TEST(TrialTexts, ReadBackToTheSameValue) {
  for (const Phase phase : {Phase::kSearch, Phase::kFinal}) EXPECT_EQ(parse_phase(to_text(phase)), phase);
  for (const Origin origin : {Origin::kInitial, Origin::kMutation, Origin::kCrossover, Origin::kRandom,
                              Origin::kEnumerated, Origin::kFront}) {
    EXPECT_EQ(parse_origin(to_text(origin)), origin);
  }
  for (const FailureKind kind : {FailureKind::kDiverged, FailureKind::kOutOfMemory, FailureKind::kException,
                                 FailureKind::kInfeasible, FailureKind::kStopped}) {
    EXPECT_EQ(parse_failure_kind(to_text(kind)), kind);
  }
}

TEST(TrialTexts, AreThoseOfTheJournal) {
  EXPECT_EQ(to_text(Phase::kSearch), "search");
  EXPECT_EQ(to_text(Phase::kFinal), "final");
  EXPECT_EQ(to_text(Origin::kInitial), "initial");
  EXPECT_EQ(to_text(Origin::kMutation), "mutation");
  EXPECT_EQ(to_text(Origin::kCrossover), "crossover");
  EXPECT_EQ(to_text(Origin::kRandom), "random");
  EXPECT_EQ(to_text(Origin::kEnumerated), "enumerated");
  EXPECT_EQ(to_text(Origin::kFront), "front");
  EXPECT_EQ(to_text(FailureKind::kDiverged), "diverged");
  EXPECT_EQ(to_text(FailureKind::kOutOfMemory), "out_of_memory");
  EXPECT_EQ(to_text(FailureKind::kException), "exception");
  EXPECT_EQ(to_text(FailureKind::kInfeasible), "infeasible");
  EXPECT_EQ(to_text(FailureKind::kStopped), "stopped");
}

TEST(TrialTexts, OfOtherWordsAreRefusedWithASuggestion) {
  EXPECT_EQ(user_error_of([] { parse_phase("serach"); }), "unknown phase `serach`, did you mean `search`?");
  EXPECT_EQ(user_error_of([] { parse_origin("crossovr"); }),
            "unknown origin `crossovr`, did you mean `crossover`?");
  EXPECT_EQ(
      user_error_of([] { parse_failure_kind("xyz"); }),
      "unknown kind of failure `xyz`, known here: diverged, out_of_memory, exception, infeasible, stopped");
}

}  // namespace
}  // namespace skyline::trial

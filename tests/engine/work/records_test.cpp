#include "engine/work/records.hpp"

#include "skyline/core/error.hpp"

#include "engine/fixtures/engine_rig.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

trial::Trial sample_trial(std::int64_t genotype) {
  trial::Trial trial;
  trial.number = 17;
  trial.proposal.trains = 17;
  trial.proposal.architecture =
      std::make_shared<const space::Architecture>(test_space().build(test_space().genotype_at(genotype)));
  trial.proposal.origin = trial::Origin::kCrossover;
  trial.proposal.parents = {3, 4'000'000'000'000};
  trial.proposal.iteration = 6;
  trial.proposal.budget.epochs = 0.1;
  trial.seed = 0xFEDCBA9876543210U;
  return trial;
}

AskedTrial shared(const trial::Trial& trial) {
  return std::make_shared<const trial::Trial>(trial);
}

void expect_same(const trial::Trial& read, const trial::Trial& trial) {
  EXPECT_EQ(read.number, trial.number);
  EXPECT_EQ(read.name(), trial.name());
  EXPECT_EQ(read.budget().epochs, trial.budget().epochs);
  EXPECT_EQ(read.seed, trial.seed);
  EXPECT_EQ(read.members, trial.members);
  EXPECT_EQ(read.proposal.origin, trial.proposal.origin);
  EXPECT_EQ(read.proposal.parents, trial.proposal.parents);
  EXPECT_EQ(read.proposal.iteration, trial.proposal.iteration);
  EXPECT_EQ(read.architecture().id, trial.architecture().id);
  EXPECT_EQ(read.architecture().genotype, trial.architecture().genotype);
  EXPECT_FALSE(read.inherits());
}

TEST(TrialRecord, ReadsBackWhatWasWritten) {
  const TrialRecord format(test_space());
  std::vector<std::byte> record(format.bytes());
  for (std::int64_t genotype = 0; genotype < test_space().genotype_count(); ++genotype) {
    const trial::Trial trial = sample_trial(genotype);
    format.write({shared(trial), {}}, record);
    const auto read = format.read(record);
    expect_same(*read.trial, trial);
    EXPECT_FALSE(read.group);
  }
}

TEST(TrialRecord, ReadsBackWhatATrialInherits) {
  const TrialRecord format(test_space());
  std::vector<std::byte> record(format.bytes());
  trial::Trial trial = sample_trial(3);
  trial.proposal.start = trial::Inherit{5, sample_trial(9).proposal.architecture, 0.75, 511};
  format.write({shared(trial), {}}, record);
  const auto read = format.read(record);
  ASSERT_TRUE(read.trial->inherits());
  const trial::Inherit& inherits = *read.trial->inherits();
  EXPECT_EQ(inherits.from, 5U);
  EXPECT_EQ(inherits.share, 0.75);
  EXPECT_EQ(inherits.holder, 511);
  EXPECT_EQ(inherits.architecture->id, trial.inherits()->architecture->id);
  EXPECT_EQ(read.trial->architecture().id, trial.architecture().id);
}

TEST(TrialRecord, ReadsBackWhatATrialContinues) {
  const TrialRecord format(test_space());
  std::vector<std::byte> record(format.bytes());
  trial::Trial trial = sample_trial(3);
  trial.proposal.horizon.epochs = 0.9;
  const trial::Inherit began{5, sample_trial(9).proposal.architecture, 0.75, 511};
  for (const bool inherited : {false, true}) {
    trial::Continue start{.from = 7, .epochs = 0.05, .began = {}, .holder = 3};
    if (inherited) start.began = began;
    trial.proposal.start = start;
    format.write({shared(trial), {}}, record);
    const auto read = format.read(record);
    ASSERT_TRUE(read.trial->continues());
    EXPECT_EQ(*read.trial->continues(), start);
    EXPECT_EQ(read.trial->continues()->epochs, 0.05);
    EXPECT_EQ(read.trial->continues()->holder, 3);
    EXPECT_EQ(read.trial->horizon().epochs, 0.9);
    ASSERT_EQ(read.trial->inherits() != nullptr, inherited);
    if (!inherited) continue;
    EXPECT_EQ(read.trial->inherits()->holder, 511);
    EXPECT_EQ(read.trial->inherits()->architecture->id, began.architecture->id);
  }
}

TEST(TrialRecord, ReadsBackWhereTheMembersOfAGroupAre) {
  const TrialRecord format(test_space());
  std::vector<std::byte> record(format.bytes());
  trial::Trial trial = sample_trial(3);
  trial.members = 5;
  const GroupPlace place{.sequence = 1ULL << 40U, .members = 5, .first_rank = 70'000, .ranks = 3};
  format.write({shared(trial), place, 2, true}, record);
  const auto read = format.read(record);
  ASSERT_TRUE(read.group);
  expect_same(*read.trial, trial);
  EXPECT_EQ(read.group->sequence, place.sequence);
  EXPECT_EQ(read.group->members, 5U);
  EXPECT_EQ(read.group->first_rank, 70'000);
  EXPECT_EQ(read.group->ranks, 3);
  EXPECT_EQ(read.attempt, 2U);
  EXPECT_TRUE(read.last);
}

TEST(TrialRecord, RefusesBytesThatAreNoRecord) {
  const TrialRecord format(test_space());
  EXPECT_THROW(format.read(std::vector<std::byte>(format.bytes())), InternalError);
}

TEST(TrialRecord, RefusesAnArchitectureThatThisRankBuildsDifferently) {
  const TrialRecord format(test_space());
  std::vector<std::byte> record(format.bytes());
  auto other = std::make_shared<space::Architecture>(sample_trial(0).architecture());
  other->id = space::ArchId{1};
  trial::Trial trial = sample_trial(0);
  trial.proposal.architecture = other;
  format.write({shared(trial), {}}, record);
  try {
    format.read(record);
    FAIL() << "the record was accepted";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("trial 17: this rank builds "));
    EXPECT_THAT(error.what(), HasSubstr("rank 0 sent 0000000000000001"));
  }
}

TEST(ResultRecord, ReadsBackMeasurementsAndTiming) {
  const ResultRecord format(3);
  std::vector<std::byte> record(format.bytes());
  Arrival arrival{{8, true}, trial::Measurements{{0.5, std::nan(""), -1e300}}, {}};
  arrival.timing = {.rank = 2,
                    .slot = 1,
                    .started_s = 3,
                    .setup_s = 4,
                    .train_s = 5,
                    .validate_s = 6,
                    .latency_s = 7,
                    .wait_files_s = 8,
                    .wait_ranks_s = 9};
  format.write(arrival, record);
  const auto read = format.read(record);
  EXPECT_EQ(read.trial, (trial::TrialName{8, true}));
  EXPECT_THAT(std::get<trial::Measurements>(read.outcome).values,
              ElementsAre(0.5, ::testing::IsNan(), -1e300));
  EXPECT_EQ(read.timing.rank, 2);
  EXPECT_EQ(read.timing.slot, 1);
  EXPECT_EQ(read.timing.started_s, 3);
  EXPECT_EQ(read.timing.total_s(), 39);
  EXPECT_FALSE(read.unsaved);
  arrival.unsaved = true;
  arrival.attempt = 3;
  arrival.again = true;
  format.write(arrival, record);
  EXPECT_TRUE(format.read(record).unsaved);
  EXPECT_EQ(format.read(record).attempt, 3U);
  EXPECT_TRUE(format.read(record).again);
}

TEST(ResultRecord, ReadsBackFailuresOfAnyReasonThatFits) {
  const ResultRecord format(3);
  std::vector<std::byte> record(format.bytes());
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, kReasonBytes}) {
    const trial::Failure failure{trial::FailureKind::kOutOfMemory, std::string(length, 'r')};
    format.write({{9}, failure, {}}, record);
    const auto read = format.read(record);
    EXPECT_EQ(std::get<trial::Failure>(read.outcome).kind, failure.kind);
    EXPECT_EQ(std::get<trial::Failure>(read.outcome).reason, failure.reason);
  }
  EXPECT_THROW(format.write({{9}, trial::Failure{{}, std::string(kReasonBytes + 1, 'r')}, {}}, record),
               InternalError);
}

TEST(ResultRecord, ReadsBackTheTimeOfAHelper) {
  const ResultRecord format(3);
  std::vector<std::byte> record(format.bytes());
  Arrival arrival{{8, true}, trial::Measurements{}, {}};
  arrival.follower = true;
  arrival.timing.rank = 2;
  arrival.timing.train_s = 0.5;
  format.write(arrival, record);
  const auto read = format.read(record);
  EXPECT_TRUE(read.follower);
  EXPECT_FALSE(read.stopped());
  EXPECT_EQ(read.trial, (trial::TrialName{8, true}));
  EXPECT_EQ(read.timing.rank, 2);
  EXPECT_EQ(read.timing.train_s, 0.5);
}

TEST(FitReason, KeepsTheFirstLine) {
  EXPECT_EQ(fit_reason("shape mismatch\nstack of calls"), "shape mismatch");
  EXPECT_EQ(fit_reason("windows line\r\nmore"), "windows line");
  EXPECT_EQ(fit_reason(""), "");
}

TEST(FitReason, CutsBetweenCharacters) {
  EXPECT_EQ(fit_reason(std::string(300, 'x')), std::string(240, 'x'));
  // 239 bytes, then a character of two bytes that would end at byte 241.
  EXPECT_EQ(fit_reason(std::string(239, 'x') + "\u00e9 and more"), std::string(239, 'x'));
  EXPECT_EQ(fit_reason(std::string(238, 'x') + "\u00e9 and more"), std::string(238, 'x') + "\u00e9");
}

}  // namespace
}  // namespace skyline::engine

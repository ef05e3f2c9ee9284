#include "engine/dispatch/fleet_channel.hpp"

#include "skyline/core/error.hpp"

#include "engine/fixtures/engine_rig.hpp"
#include "engine/slots/evaluation.hpp"
#include "engine/work/dispatcher.hpp"
#include "search/pruning_bars.hpp"
#include "trial/trial_record.hpp"

#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Gives messages back to their sender.
class Echo final : public comm::Link {
 public:
  void send(int, std::span<const std::byte> message) override {
    sent_.emplace_back(message.begin(), message.end());
  }
  std::optional<comm::LinkMessage> receive() override {
    if (sent_.empty()) return std::nullopt;
    received_ = std::move(sent_.front());
    sent_.pop_front();
    return comm::LinkMessage{0, received_};
  }
  bool is_sent() const override { return sent_.empty(); }
  void close() override {}

 private:
  std::deque<std::vector<std::byte>> sent_;
  std::vector<std::byte> received_;
};

class FleetChannelTest : public ::testing::Test {
 protected:
  FleetChannel::SlotTrial back(const trial::Trial& trial, const std::optional<GroupPlace>& group = {},
                               std::uint32_t attempt = 0, std::uint32_t tried = 0) {
    mail.send_trial(1, 3, {std::make_shared<const trial::Trial>(trial), group, attempt, tried});
    return mail.read_trial(mail.receive().value());
  }
  Arrival back(const Arrival& arrival) {
    mail.send(0, MessageKind::kResult, arrival);
    return from_record<Arrival>(mail.receive().value().content);
  }

  FleetChannel mail{std::make_unique<Echo>(), test_space(), most_mail_bytes(test_space(), 3, 3), 0};
};

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

void expect_same(const trial::Trial& read, const trial::Trial& trial) {
  EXPECT_EQ(read.name(), trial.name());
  EXPECT_FALSE(first_difference(read, trial));
  EXPECT_EQ(read.architecture().id, trial.architecture().id);
  EXPECT_EQ(read.architecture().genotype, trial.architecture().genotype);
  EXPECT_EQ(read.architecture().network().canonical_text(), trial.architecture().network().canonical_text());
}

TEST_F(FleetChannelTest, ReadsBackATrialOfAnyArchitecture) {
  for (std::int64_t genotype = 0; genotype < test_space().genotype_count(); ++genotype) {
    const trial::Trial trial = sample_trial(genotype);
    const FleetChannel::SlotTrial read = back(trial);
    expect_same(*read.assignment.trial, trial);
    EXPECT_FALSE(read.assignment.group);
    EXPECT_EQ(read.slot, 3U);
  }
}

TEST_F(FleetChannelTest, ReadsBackWhatATrialInheritsAndContinues) {
  trial::Trial trial = sample_trial(3);
  trial.proposal.horizon.epochs = 0.9;
  const trial::Inherit inherit{5, sample_trial(9).proposal.architecture, 0.75, 511};
  const trial::Continue fresh{.from = 7, .epochs = 0.05, .began = {}, .holder = 3};
  const trial::Continue begun{.from = 7, .epochs = 0.05, .began = inherit, .holder = -1};
  for (const trial::Start& start : {trial::Start(inherit), trial::Start(fresh), trial::Start(begun)}) {
    trial.proposal.start = start;
    const auto read = back(trial).assignment.trial;
    expect_same(*read, trial);
    ASSERT_EQ(read->inherits() != nullptr, trial.inherits() != nullptr);
    if (read->inherits() != nullptr) {
      EXPECT_EQ(read->inherits()->holder, 511);
      EXPECT_EQ(read->inherits()->architecture->id, inherit.architecture->id);
      EXPECT_FALSE(read->inherits()->architecture->network().layers.empty());
    }
    ASSERT_EQ(read->continues() != nullptr, trial.continues() != nullptr);
    if (read->continues() == nullptr) continue;
    EXPECT_EQ(read->continues()->epochs, 0.05);
    EXPECT_EQ(read->continues()->holder, trial.continues()->holder);
  }
}

TEST_F(FleetChannelTest, ReadsBackWhereTheMembersOfAGroupAre) {
  trial::Trial trial = sample_trial(3);
  trial.members = 5;
  const GroupPlace place{.sequence = 1ULL << 40U, .members = 5, .ranks = {70'000, 3, 512}};
  const Assignment read = back(trial, place, 2, 1).assignment;
  ASSERT_TRUE(read.group);
  expect_same(*read.trial, trial);
  EXPECT_EQ(read.group->sequence, place.sequence);
  EXPECT_EQ(read.group->members, 5U);
  EXPECT_EQ(read.group->ranks, place.ranks);
  EXPECT_EQ(read.attempt, 2U);
  EXPECT_EQ(read.tried, 1U);
}

TEST_F(FleetChannelTest, HasRoomForTheLargestTrial) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  auto architecture = std::make_shared<space::Architecture>(sample_trial(31).architecture());
  for (std::uint32_t& choice : architecture->genotype.choices)
    choice = std::numeric_limits<std::uint32_t>::max();
  trial::Trial trial = sample_trial(31);
  trial.number = kMost;
  trial.proposal.trains = kMost;
  trial.proposal.architecture = architecture;
  trial.proposal.parents.assign(trial::kMostParents, kMost);
  trial.proposal.iteration = std::numeric_limits<std::uint32_t>::max();
  trial.proposal.start = trial::Continue{kMost, 0.1, trial::Inherit{kMost, architecture, 0.5, -1}, -1};
  trial.members = std::numeric_limits<std::uint32_t>::max();
  trial.cost = kMost;
  EXPECT_NO_THROW(mail.send_trial(1, kMost,
                                  {std::make_shared<const trial::Trial>(trial),
                                   GroupPlace{kMost, kMost, {2'000'000, 2'000'001, 2'000'002}}, 1U << 31U}));
  EXPECT_THROW(mail.send(1, MessageKind::kStuck, std::string(2000, 'x')), InternalError);
}

TEST_F(FleetChannelTest, RefusesATrialThatIsCutOrTooLong) {
  mail.send_trial(1, 3, {std::make_shared<const trial::Trial>(sample_trial(0)), {}});
  FleetChannel::Message message = mail.receive().value();
  const std::string whole(message.content);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    message.content = std::string_view(whole).substr(0, bytes);
    EXPECT_THROW(mail.read_trial(message), InternalError) << bytes;
  }
  const std::string longer = whole + "x";
  message.content = longer;
  EXPECT_THROW(mail.read_trial(message), InternalError);
}

TEST_F(FleetChannelTest, RefusesAnArchitectureThatThisRankBuildsDifferently) {
  auto other = std::make_shared<space::Architecture>(sample_trial(0).architecture());
  other->id = space::ArchId{1};
  trial::Trial trial = sample_trial(0);
  trial.proposal.architecture = other;
  try {
    back(trial);
    FAIL() << "the trial was accepted";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("trial 17: this rank builds "));
    EXPECT_THAT(error.what(), HasSubstr("rank 0 sent 0000000000000001"));
  }
}

TEST_F(FleetChannelTest, ReadsBackAllNamesOfTrialsThatAreJournalled) {
  std::vector<trial::TrialName> names;
  for (std::uint64_t i = 0; i < 1000; ++i) names.push_back({i, i % 2 == 1});
  mail.send_journalled(1, names);
  std::vector<trial::TrialName> read;
  while (const auto message = mail.receive()) {
    for (const auto name : from_record<std::vector<trial::TrialName>>(message->content)) read.push_back(name);
  }
  EXPECT_EQ(read, names);
}

TEST_F(FleetChannelTest, ReadsBackMeasurementsAndTiming) {
  Arrival arrival{{8, true}, trial::Measurements{{0.5, std::nan(""), -1e300}}, {}};
  arrival.timing = {.rank = 2, .slot = 1, .started_s = 3, .train_s = 5, .wait_ranks_s = 9};
  const Arrival read = back(arrival);
  EXPECT_EQ(read.trial, (trial::TrialName{8, true}));
  EXPECT_THAT(std::get<trial::Measurements>(read.outcome).values,
              ElementsAre(0.5, ::testing::IsNan(), -1e300));
  EXPECT_EQ(read.timing.rank, 2);
  EXPECT_EQ(read.timing.slot, 1);
  EXPECT_EQ(read.timing.started_s, 3);
  EXPECT_EQ(read.timing.total_s(), 14);
  EXPECT_FALSE(read.unsaved || read.again || read.follower);
  arrival.unsaved = true;
  arrival.attempt = 3;
  arrival.again = true;
  EXPECT_TRUE(back(arrival).unsaved);
  EXPECT_EQ(back(arrival).attempt, 3U);
  EXPECT_TRUE(back(arrival).again);
  arrival.follower = true;
  EXPECT_TRUE(back(arrival).follower);
}

TEST_F(FleetChannelTest, ReadsBackBarsAndValuesAfterDeclaredSteps) {
  trial::Trial trial = sample_trial(3);
  trial.bars = {{1, {}}, {3, {-0.5, 7, -0.4, 6}}};
  const auto read = back(trial).assignment.trial;
  ASSERT_EQ(read->bars.size(), 2U);
  EXPECT_EQ(read->bars[1].step, 3);
  EXPECT_THAT(read->bars[1].points, ElementsAre(-0.5, 7, -0.4, 6));
  const trial::Measurements pruned{{0.5, 1, 2}, {{1, {0.4, 1, 2}}, {3, {0.5, 1, 2}}}, trial::Extent::kPruned};
  const auto measured = std::get<trial::Measurements>(back({{8}, pruned, {}}).outcome);
  EXPECT_EQ(measured.extent, trial::Extent::kPruned);
  EXPECT_THAT(measured.steps[1].values, ElementsAre(0.5, 1, 2));
}

TEST(PruningMail, HasRoomForTheLargestBarsAndTheMostValues) {
  search::PruningOptions options;
  std::vector<trial::PruningBar> bars;
  std::vector<trial::StepValues> steps;
  for (std::size_t i = 0; i < trial::kMostDeclaredSteps; ++i) {
    const auto step = static_cast<std::int64_t>(1'000'000'000 - trial::kMostDeclaredSteps + i);
    options.at.push_back(step);
    bars.push_back({step, std::vector<double>(64 * 3)});
    steps.push_back({step, std::vector<double>(300)});
  }
  EXPECT_LE(to_record(bars).size(), search::most_pruning_bytes(options, 3, 5));
  EXPECT_LE(to_record(steps).size(), search::most_pruning_bytes(options, 1, 300));
}

TEST_F(FleetChannelTest, ReadsBackFailuresOfAnyReasonThatFits) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, kReasonBytes}) {
    const trial::Failure failure{trial::FailureKind::kOutOfMemory, std::string(length, 'r')};
    const Arrival read = back({{9}, failure, {}});
    EXPECT_EQ(std::get<trial::Failure>(read.outcome).kind, failure.kind);
    EXPECT_EQ(std::get<trial::Failure>(read.outcome).reason, failure.reason);
  }
}

}  // namespace
}  // namespace skyline::engine

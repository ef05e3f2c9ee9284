#include "engine/fixtures/shared_run_test.hpp"
#include "store/weights/weights.hpp"
#include "support/yaml_config.hpp"

#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::HasSubstr;
using trial::Failure;
using trial::FailureKind;
using trial::Trial;
using trial::TrialNumber;
using Members = std::function<std::uint32_t(const Trial&)>;

Members always(std::uint32_t members) {
  return [members](const Trial&) { return members; };
}

/// 1 to `most`, by the architecture.
Members mixed(std::uint32_t most) {
  return [most](const Trial& trial) {
    const auto id = static_cast<std::uint64_t>(trial.architecture().id);
    return static_cast<std::uint32_t>(1 + derive_seed(1, "members", {id}) % most);
  };
}

RunSpec group_spec(Members members) {
  RunSpec spec = evolution_spec();
  spec.members = std::move(members);
  return spec;
}

class GroupRunTest : public BothWaysTest {
 protected:
  /// Delays that differ from member to member, so that they come to each other in another order each time.
  std::function<void(const Trial&, std::size_t)> uneven_members() {
    return [salt = static_cast<std::uint64_t>(rank())](const Trial& trial, std::size_t member) {
      const std::uint64_t delay = derive_seed(salt, "delay", {trial.number, member}) % 300;
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
    };
  }
};

TEST_P(GroupRunTest, WritesTheSameJournalOnAnyNumberOfRanksAndSlots) {
  struct Variant {
    std::string name;
    Members members;
    std::optional<std::size_t> window;
    std::size_t slots;
  };
  const std::vector<Variant> variants = {{"two", always(2), std::nullopt, 1},
                                         {"three_2_slots", always(3), std::nullopt, 2},
                                         {"four_window", always(4), 3, 1},
                                         {"mixed", mixed(5), std::nullopt, 1},
                                         {"mixed_window_2_slots", mixed(3), 5, 2}};
  for (const Variant& variant : variants) {
    RunSpec spec = group_spec(variant.members);
    spec.options.window = variant.window;
    const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
    spec.options.slots = variant.slots;
    spec.hook = shuffling_delay();
    spec.member_hook = uneven_members();
    const RigRun all = run(variant.name, spec);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical(variant.name), expected) << variant.name;
    EXPECT_THAT(expected, HasSubstr(R"("members":)"));
  }
}

TEST_P(GroupRunTest, SpreadsAGroupOverAllRanks) {
  const auto members = static_cast<std::uint32_t>(size());
  RunSpec spec = group_spec(always(members));
  const RigRun all = run("wide", spec);
  const std::size_t trials = all.result.committed.size();
  std::size_t everyones = trials;
  comm::wait(*world().broadcast(std::as_writable_bytes(std::span(&everyones, 1)), 0));
  EXPECT_EQ(static_cast<std::size_t>(all.evaluations), everyones) << "a member of each trial is here";
  EXPECT_EQ(all.completed.size(), rank() == 0 ? everyones : 0U);
}

TEST_P(GroupRunTest, AccountsForTheTimeOfEveryMembersRank) {
  RunSpec spec = group_spec(always(2 * static_cast<std::uint32_t>(size())));
  spec.member_hook = [](const Trial&, std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const RigRun all = run("account", spec);
  if (rank() != 0) return;
  const std::size_t trials = all.result.committed.size();
  const double least_s = 1e-3 * static_cast<double>(trials) * static_cast<double>(spec.steps);
  for (const run::SlotAccount& slot : all.result.account.slots) {
    EXPECT_EQ(slot.trials, slot.rank == 0 ? trials : 0U) << "counted where they were led";
    EXPECT_GE(slot.setup_s + slot.busy_s(), least_s) << "rank " << slot.rank;
    EXPECT_GT(slot.wait_ranks_s, 0) << "rank " << slot.rank;
    EXPECT_NEAR(slot.wall_s(), all.result.account.wall_s, 1e-6);
  }
}

TEST_P(GroupRunTest, LeavesOutARankZeroThatCoordinatesOnly) {
  if (size() == 1) return;  // refused: local_run_test.cpp
  RunSpec spec = group_spec(mixed(4));
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.options.coordinator_only = true;
  const RigRun all = run("coordinator", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("coordinator"), expected);
  EXPECT_EQ(all.evaluations, 0);
}

TEST_P(GroupRunTest, FailsATrialOnceIfAnyMemberFails) {
  RunSpec spec = group_spec(always(3));
  spec.search = testing::config_from_yaml("algorithm: exhaustive");
  spec.member_hook = [](const Trial& trial, std::size_t member) {
    if (trial.number % 4 == member + 1) throw std::runtime_error("no kernel for this shape");
  };
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const RigRun all = run("failures", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("failures"), expected);
  for (const auto& committed : all.result.committed) {
    const auto* failure = std::get_if<Failure>(&committed.outcome);
    EXPECT_EQ(failure != nullptr, committed.trial.number % 4 != 0) << committed.trial.number;
    if (failure == nullptr) continue;
    EXPECT_EQ(failure->kind, FailureKind::kException);
    EXPECT_EQ(failure->reason, "no kernel for this shape");
  }
}

TEST_P(GroupRunTest, KeepsWeightsOnceAndGivesThemToHeirs) {
  RunSpec spec = group_spec(mixed(3));
  spec.search.set("iterations", ConfigNode::make_integer(4));
  spec.options.inherit = true;
  spec.options.keep_weights = KeepWeights::kAll;
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const RigRun all = run("inherit", spec);
  std::string mine;
  for (const auto& [child, parent] : all.heirs) mine += std::to_string(child) + ' ';
  std::multiset<TrialNumber> heirs;
  for (const std::string& line : comm::gather(world(), mine)) {
    std::istringstream words(line);
    for (TrialNumber child = 0; words >> child;) heirs.insert(child);
  }
  if (rank() != 0) return;
  EXPECT_EQ(canonical("inherit"), expected);
  const store::RunPaths paths{root() / "inherit"};
  std::size_t inherited = 0;
  for (const auto& committed : all.result.committed) {
    const Trial& trial = committed.trial;
    const auto file = paths.weights(trial.name());
    EXPECT_EQ(store::read_weights(file).tensors.at(0).values.at(0), static_cast<float>(trial.number));
    if (trial.is_final()) continue;  // has the number of the trial that it trains
    EXPECT_EQ(heirs.count(trial.number), trial.inherits() ? 1U : 0U);
    if (trial.inherits() && trial.members > 1) ++inherited;
  }
  EXPECT_GT(inherited, 0U);
}

TEST_P(GroupRunTest, StopsInTheMiddleAndGoesOnWithoutRepeatingAStep) {
  RunSpec spec = group_spec(mixed(4));
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  for (const int asking : std::set<int>{0, size() - 1}) {
    const std::string name = "stopped_by_" + std::to_string(asking);
    const RigRun first = stopped_run(name, spec, {asking}, [](const Trial& t) { return t.number == 8; });
    EXPECT_TRUE(rank() != 0 || (first.result.stopped && first.result.unsaved == 0));
    const RigRun rest = run(name, spec, true);
    expect_no_step_twice(first, rest, spec);
    EXPECT_TRUE(rank() != 0 || canonical(name) == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GroupRunTest, both_ways(), name_of_way);

}  // namespace
}  // namespace skyline::engine

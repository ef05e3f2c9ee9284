// Full trainings, and trials of the search, that are repeated, on several ranks.
#include "engine/fixtures/shared_run_test.hpp"

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using trial::CommittedTrial;

RunSpec repeats_spec(std::uint32_t repeats) {
  RunSpec spec = evolution_spec(2);
  spec.final_repeats = repeats;
  return spec;
}

/// A search that repeats candidates for its front (`search.repeats`).
RunSpec search_repeats_spec() {
  RunSpec spec = evolution_spec(3);
  spec.search.set("repeats", ConfigNode::make_integer(3));
  spec.final_epochs.reset();
  return spec;
}

std::vector<CommittedTrial> full_trainings(const RigRun& run) {
  std::vector<CommittedTrial> trainings;
  for (const CommittedTrial& committed : run.result.committed) {
    if (committed.trial.is_final()) trainings.push_back(committed);
  }
  return trainings;
}

bool is_second_repeat(const trial::Trial& trial) {
  return trial.proposal.final_repeat == 2;
}

class Repeats : public SharedRunTest {
 protected:
  /// Keeps the first lines of the journal: header and `trials` trials.
  void cut_journal(const std::string& name, std::size_t trials) {
    std::ifstream file(journal(name));
    std::string kept;
    std::string line;
    for (std::size_t i = 0; i < trials + 1 && std::getline(file, line); ++i) kept += line + '\n';
    file.close();
    std::ofstream(journal(name)) << kept;
  }
};

TEST_F(Repeats, WriteTheSameJournalOnAnyNumberOfRanksAndSlots) {
  RunSpec spec = repeats_spec(3);
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const std::string once = rank() == 0 ? canonical_of_one_process(repeats_spec(1)) : "";
  spec.options.slots = 2;
  spec.hook = shuffling_delay();
  const RigRun all = run("all", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("all"), expected);
  EXPECT_TRUE(expected.starts_with(once)) << "the first trainings are those of a run without repeats";
  EXPECT_GT(expected.size(), once.size());
}

TEST_F(Repeats, TrainAllMembersOnceBeforeTheFirstIsRepeatedEachWithASeedOfItsOwn) {
  const RigRun all = run("all", repeats_spec(3));
  if (rank() != 0) return;
  const std::vector<CommittedTrial> trainings = full_trainings(all);
  const std::size_t members = trainings.size() / 3;
  ASSERT_GT(members, 1U);
  EXPECT_EQ(all.observer.expected_final, trainings.size());
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    EXPECT_EQ(trainings[i].trial.number, trainings[i % members].trial.number);
    EXPECT_EQ(trainings[i].trial.proposal.final_repeat, i / members);
    seeds.insert(trainings[i].trial.seed);
  }
  EXPECT_THAT(seeds, SizeIs(trainings.size()));
}

TEST_F(Repeats, ResumeInTheMiddleWithoutRepeatingAStep) {
  RunSpec spec = repeats_spec(3);
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.options.slots = 2;
  const RigRun first = stopped_run("stopped", spec, all_ranks(), is_second_repeat);
  const RigRun rest = run("stopped", spec, true);
  expect_no_step_twice(first, rest, spec);
  if (rank() != 0) return;
  EXPECT_TRUE(first.result.stopped);
  EXPECT_EQ(canonical("stopped"), expected);
  EXPECT_THAT(checkpoints("stopped"), IsEmpty());
}

TEST_F(Repeats, ReplayToTheSameWhereverTheJournalIsCut) {
  const RunSpec spec = repeats_spec(3);
  const RigRun whole = run("cut", spec);
  const std::string expected = rank() == 0 ? canonical("cut") : "";
  const int trials = comm::share(world(), static_cast<int>(whole.result.committed.size()));
  const int trainings = comm::share(world(), static_cast<int>(full_trainings(whole).size()));
  for (int kept = trials - trainings; kept < trials; ++kept) {
    if (rank() == 0) cut_journal("cut", static_cast<std::size_t>(kept));
    const RigRun rest = run("cut", spec, true);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical("cut"), expected) << kept;
    EXPECT_EQ(rest.result.on_front, whole.result.on_front);
  }
}

TEST_F(Repeats, MayBeAddedWhenARunIsResumedAndAreThenThoseOfARunThatHadThemFromTheStart) {
  run("more", repeats_spec(1));
  const RigRun more = run("more", repeats_spec(3), true);
  const std::size_t added = full_trainings(more).size() / 3 * 2;
  const RigRun fewer = run("more", repeats_spec(2), true);
  if (rank() != 0) return;
  EXPECT_EQ(more.observer.positions.size(), added);
  EXPECT_THAT(fewer.observer.positions, IsEmpty()) << "what is trained stays";
  EXPECT_EQ(canonical("more"), canonical_of_one_process(repeats_spec(3)));
}

TEST_F(Repeats, KeepTheWeightsOfTheFirstTrainingAlone) {
  RunSpec spec = repeats_spec(3);
  spec.options.keep_weights = KeepWeights::kAll;
  const RigRun all = run("weights", spec);
  if (rank() != 0) return;
  std::set<std::string> expected;
  for (const CommittedTrial& committed : all.result.committed) {
    if (committed.trial.proposal.final_repeat == 0) expected.insert(to_text(committed.trial.name()));
  }
  const std::vector<std::string> kept = weight_ids(root() / "weights");
  EXPECT_EQ(std::set<std::string>(kept.begin(), kept.end()), expected);
}

TEST_F(Repeats, InTheSearchWriteTheSameJournalOnAnyRanksAndWhereverItIsCut) {
  RunSpec spec = search_repeats_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.options.slots = 2;
  spec.hook = shuffling_delay();
  const RigRun whole = run("searched", spec);
  const int trials = comm::share(world(), static_cast<int>(whole.result.committed.size()));
  if (rank() == 0) {
    std::set<std::uint64_t> seeds;
    for (const CommittedTrial& committed : whole.result.committed) seeds.insert(committed.trial.seed);
    EXPECT_THAT(seeds, SizeIs(static_cast<std::size_t>(trials)));
    EXPECT_EQ(canonical("searched"), expected);
    EXPECT_NE(expected.find("\"repeat\":2"), std::string::npos);
  }
  spec.hook = {};
  for (int kept = trials / 3; kept < trials; kept += 4) {
    if (rank() == 0) cut_journal("searched", static_cast<std::size_t>(kept));
    const RigRun rest = run("searched", spec, true);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical("searched"), expected) << kept;
    EXPECT_EQ(rest.result.on_front, whole.result.on_front);
  }
}

TEST_F(Repeats, InTheSearchKeepTheWeightsOfTheFrontOfMeansAlone) {
  RunSpec spec = search_repeats_spec();
  spec.options.keep_weights = KeepWeights::kFront;
  const RigRun all = run("weights", spec);
  if (rank() != 0) return;
  const std::vector<std::string> kept = weight_ids(root() / "weights");
  EXPECT_THAT(kept, SizeIs(std::ranges::count(all.result.on_front, true)));
}

}  // namespace
}  // namespace skyline::engine

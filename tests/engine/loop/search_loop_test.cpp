#include "engine/fixtures/rungs.hpp"
#include "engine/fixtures/simulated_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kTrials = 5000;

TEST(SearchLoop, ReleasesTrialsOnceAndNoneBeforeThoseThatContinueThem) {
  SimulatedRun run(3, 5);
  Rungs searcher({});
  ASSERT_TRUE(run.run(searcher));
  std::size_t continued = 0;
  for (const run::SharedTrial& committed : run.state.trials()) {
    const trial::Trial& trial = committed->trial;
    if (!trial.is_final()) {
      EXPECT_EQ(run.observer.releases.contains(trial.number), trial.may_be_continued());
    }
    if (trial.continues() == nullptr) continue;
    ++continued;
    EXPECT_GT(run.observer.releases.at(trial.continues()->from), committed->position);
  }
  EXPECT_GE(continued, 6U);
  EXPECT_LT(run.observer.releases.at(3), run.state.trials().size() / 2) << "long before the search is over";
}

TEST(SearchLoop, KnowsThatAResultWhichWaitedLeftItsStateInAnEarlierJob) {
  SimulatedRun first(3, 5);
  Rungs searcher({});
  ASSERT_TRUE(first.run(searcher));
  trial::ResultsByName waiting;
  for (trial::CommittedTrial& committed : first.journal()) {
    committed.timing.rank = 5;
    if (committed.trial.number < 4) waiting.insert_or_assign(committed.trial.name(), committed);
  }
  SimulatedRun second(3, 5);
  second.replay = Replay({}, std::move(waiting));
  std::set<int> holders;
  second.observer.on_asked = [&](const trial::Trial& trial) {
    if (trial.continues() != nullptr) holders.insert(trial.continues()->holder);
  };
  Rungs again({});
  ASSERT_TRUE(second.run(again));
  EXPECT_THAT(holders, ElementsAre(-1, 0));
}

TEST(SearchLoop, GivesBarsToTrialsAloneWhoseResultIsNotKnown) {
  SimulatedRun first(2, 4);
  Enumeration searcher(10);
  ASSERT_TRUE(first.run(searcher));
  std::vector<trial::CommittedTrial> journal = first.journal();
  journal.resize(5);
  SimulatedRun resumed(2, 4, journal);
  const search::StepComparison comparison(test_objectives(), {{.name = "validation_accuracy"}});
  TrialMaker maker(resumed.options, resumed.evaluator, resumed.state,
                   search::PruningBars({.at = {1}}, comparison));
  std::vector<std::size_t> bars;
  resumed.observer.on_asked = [&](const trial::Trial& trial) { bars.push_back(trial.bars.size()); };
  SearchLoop loop(maker, resumed.replay, *resumed.order, resumed.cluster, resumed.cluster, resumed.state,
                  {&resumed.observer}, [] { return false; });
  Enumeration again(10);
  ASSERT_TRUE(loop.run(again, trial::Phase::kSearch));
  EXPECT_THAT(bars, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1));
}

TEST(SearchLoop, CommitsThousandsOfTrialsTheSameOnAnySimulatedCluster) {
  SimulatedRun alone(1, 64);
  Enumeration searcher(kTrials);
  ASSERT_TRUE(alone.run(searcher));
  ASSERT_EQ(searcher.told.size(), kTrials);
  EXPECT_TRUE(std::ranges::is_sorted(searcher.told));
  EXPECT_GT(alone.state.trials().size(), kTrials) << "the front was trained";
  for (const std::size_t slots : {std::size_t{7}, std::size_t{64}}) {
    SimulatedRun other(slots, 64);
    Enumeration same(kTrials);
    ASSERT_TRUE(other.run(same));
    EXPECT_EQ(commits_of(other.state), commits_of(alone.state));
    EXPECT_LT(other.cluster.now_s(), alone.cluster.now_s() / 4) << "slots train side by side";
  }
}

TEST(SearchLoop, CommitsByVirtualTimeTheSameOnAnySimulatedCluster) {
  SimulatedRun alone(1, 64, {}, 16);
  Enumeration searcher(kTrials);
  ASSERT_TRUE(alone.run(searcher));
  ASSERT_EQ(searcher.told.size(), kTrials);
  EXPECT_FALSE(std::ranges::is_sorted(searcher.told)) << "numbers are no positions";
  for (const std::size_t slots : {std::size_t{7}, std::size_t{64}}) {
    SimulatedRun other(slots, 64, {}, 16);
    Enumeration same(kTrials);
    ASSERT_TRUE(other.run(same));
    EXPECT_EQ(commits_of(other.state), commits_of(alone.state));
  }
}

TEST(SearchLoop, ResumesCommitsByVirtualTimeWhereverTheJournalEnds) {
  SimulatedRun whole(8, 24, {}, 8);
  Enumeration searcher(100);
  ASSERT_TRUE(whole.run(searcher));
  for (std::size_t lines = 0; lines <= whole.state.trials().size(); lines += 9) {
    std::vector<trial::CommittedTrial> journal = whole.journal();
    journal.resize(lines);
    SimulatedRun resumed(3, 24, std::move(journal), 8);
    Enumeration again(100);
    ASSERT_TRUE(resumed.run(again));
    EXPECT_EQ(commits_of(resumed.state), commits_of(whole.state)) << lines;
    EXPECT_EQ(resumed.observer.replayed, lines);
    EXPECT_EQ(resumed.cluster.submitted, whole.state.trials().size() - lines);
  }
}

/// The last trials of the shorter run were committed without the competition of later ones.
TEST(SearchLoop, ExtendsARunWithCommitsByVirtualTimeAndReplaysThatWhereverItIsCut) {
  SimulatedRun shorter(4, 24, {}, 8);
  Enumeration first(40);
  ASSERT_TRUE(shorter.run(first));
  SimulatedRun extended(4, 24, shorter.journal(), 8);
  Enumeration longer(90);
  ASSERT_TRUE(extended.run(longer));
  EXPECT_EQ(longer.told.size(), 90U);
  const auto before = commits_of(shorter.state);
  auto after = commits_of(extended.state);
  ASSERT_GT(after.size(), before.size());
  for (std::size_t lines = before.size(); lines <= after.size(); lines += 7) {
    std::vector<trial::CommittedTrial> journal = extended.journal();
    journal.resize(lines);
    SimulatedRun resumed(7, 24, std::move(journal), 8);
    Enumeration again(90);
    ASSERT_TRUE(resumed.run(again));
    EXPECT_EQ(commits_of(resumed.state), after) << lines;
  }
  after.resize(before.size());
  EXPECT_EQ(after, before);
}

/// Asks for an enumeration in a way of its own.
class WrappedEnumeration : public search::Searcher {
 public:
  explicit WrappedEnumeration(std::size_t trials) : all_(trials) {}
  void tell(const trial::CommittedTrial& committed) override {
    EXPECT_FALSE(thinks_);
    all_.tell(committed);
  }
  bool finished() const override { return all_.finished(); }
  std::string finish_reason() const override { return all_.finish_reason(); }
  std::size_t expected_trials() const override { return all_.expected_trials(); }

 protected:
  Enumeration all_;
  bool thinks_ = false;
};

/// Does not care for results.
class FreeEnumeration final : public WrappedEnumeration {
 public:
  using WrappedEnumeration::WrappedEnumeration;
  search::Answer ask(std::size_t room) override { return all_.ask(std::min(room, std::size_t{1000})); }
  bool needs_results() const override { return false; }
};

TEST(SearchLoop, KeepsMoreThanAThousandSlotsBusyForASearcherThatNeedsNoResults) {
  constexpr std::size_t kSlots = 3000;
  SimulatedRun run(kSlots, std::nullopt);
  run.state.account() = run::SlotUsage(std::vector<run::SlotAccount>(kSlots));
  FreeEnumeration searcher(15'000);
  ASSERT_TRUE(run.run(searcher));
  EXPECT_LT(run.cluster.now_s(), 5 * 55 + 200) << "5 trials of 50 s a slot, with what ends last";
}

/// Answers every third ask alone, and checks that it is told nothing in between.
class Thinker final : public WrappedEnumeration {
 public:
  using WrappedEnumeration::WrappedEnumeration;
  search::Answer ask(std::size_t room) override {
    thinks_ = ++asks_ % 3 != 0;
    if (thinks_) return {{}, search::Answer::State::kMore};
    return all_.ask(std::min(room, std::size_t{20}));
  }

 private:
  std::size_t asks_ = 0;
};

TEST(SearchLoop, AsksASearchThatThinksAgainAndTellsItNothingMeanwhile) {
  for (const std::optional<std::size_t> virtual_slots :
       {std::optional<std::size_t>(), std::optional<std::size_t>(4)}) {
    SimulatedRun one(1, 8, {}, virtual_slots);
    Thinker searcher(200);
    ASSERT_TRUE(one.run(searcher));
    EXPECT_EQ(one.state.committed(trial::Phase::kSearch), 200U);
    SimulatedRun other(7, 8, {}, virtual_slots);
    Thinker same(200);
    ASSERT_TRUE(other.run(same));
    EXPECT_EQ(commits_of(other.state), commits_of(one.state));
  }
}

/// Needs all results of a generation of 30, and gives it out in parts of 8.
class PartWise final : public WrappedEnumeration {
 public:
  using WrappedEnumeration::WrappedEnumeration;
  search::Answer ask(std::size_t room) override {
    if (left_ == 0) left_ = 30;
    search::Answer part = all_.ask(std::min({room, left_, std::size_t{8}}));
    left_ -= part.proposals.size();
    thinks_ = left_ > 0 && !all_.finished();
    if (thinks_) part.state = search::Answer::State::kMore;
    return part;
  }

 private:
  std::size_t left_ = 0;
};

TEST(SearchLoop, AsksForTheRestOfAGenerationThatIsGivenOutInParts) {
  SimulatedRun run(7, std::nullopt);
  PartWise searcher(100);
  ASSERT_TRUE(run.run(searcher));
  EXPECT_EQ(run.state.committed(trial::Phase::kSearch), 100U);
  EXPECT_EQ(run.observer.most_in_flight, 29U) << "of a generation, at its first commit";
}

TEST(SearchLoop, AsksForALittleOfASearchThatNeedsNoResultsWhileItReplays) {
  SimulatedRun whole(8, std::nullopt);
  FreeEnumeration searcher(kTrials);
  ASSERT_TRUE(whole.run(searcher));
  SimulatedRun resumed(8, std::nullopt, whole.journal());
  FreeEnumeration again(kTrials);
  ASSERT_TRUE(resumed.run(again));
  EXPECT_EQ(commits_of(resumed.state), commits_of(whole.state));
  EXPECT_LE(resumed.observer.most_in_flight, 1000U);
}

TEST(SearchLoop, TellsItsListenersOfEveryCommitOnceReplayedOrNew) {
  SimulatedRun whole(8, 16);
  Enumeration searcher(100);
  ASSERT_TRUE(whole.run(searcher));
  for (const std::size_t lines : {std::size_t{0}, std::size_t{37}, whole.state.trials().size()}) {
    std::vector<trial::CommittedTrial> journal = whole.journal();
    journal.resize(lines);
    SimulatedRun resumed(3, 16, journal);
    Enumeration again(100);
    ASSERT_TRUE(resumed.run(again));
    EXPECT_EQ(commits_of(resumed.state), commits_of(whole.state));
    EXPECT_EQ(resumed.observer.replayed, lines);
    EXPECT_EQ(resumed.observer.positions.size(), whole.state.trials().size() - lines);
    EXPECT_EQ(resumed.cluster.submitted, whole.state.trials().size() - lines);
    EXPECT_EQ(again.told, searcher.told);
  }
}

TEST(SearchLoop, CommitsWhatNobodyAsksForAnyMoreInItsPlace) {
  SimulatedRun shorter(4, 8);
  Enumeration first(40);
  ASSERT_TRUE(shorter.run(first));
  const std::size_t lines = shorter.state.trials().size();
  ASSERT_GT(lines, 40U);
  SimulatedRun extended(4, 8, shorter.journal());
  Enumeration longer(80);
  ASSERT_TRUE(extended.run(longer));
  const auto before = commits_of(shorter.state);
  auto after = commits_of(extended.state);
  EXPECT_EQ(longer.told.size(), 80U) << "of full trainings an algorithm is not told";
  after.resize(before.size());
  EXPECT_EQ(after, before);
  EXPECT_EQ(extended.observer.replayed, lines);
}

TEST(SearchLoop, StopsWhereItIsAndAsksForNothingMore) {
  SimulatedRun run(4, 8);
  Enumeration searcher(kTrials);
  EXPECT_FALSE(run.run(searcher, [&] { return run.cluster.now_s() > 1000; }));
  EXPECT_EQ(run.observer.stops, 1);
  EXPECT_FALSE(run.state.trials().empty());
  EXPECT_LT(run.state.trials().size(), 200U);
  EXPECT_TRUE(run.cluster.idle());
}

TEST(SearchLoop, EndsInTheSameCommitsWhereverItWasStoppedAndResumed) {
  for (const std::optional<std::size_t> virtual_slots :
       {std::optional<std::size_t>(), std::optional<std::size_t>(4)}) {
    SimulatedRun whole(7, 16, {}, virtual_slots);
    Enumeration all(100);
    ASSERT_TRUE(whole.run(all));
    for (std::size_t commits = 1; commits < 100; commits += 3) {
      SimulatedRun stopped(7, 16, {}, virtual_slots);
      Enumeration first(100);
      EXPECT_FALSE(stopped.run(first, [&] { return stopped.state.trials().size() >= commits; }));
      SimulatedRun resumed(3, 16, stopped.journal(), virtual_slots);
      Enumeration again(100);
      ASSERT_TRUE(resumed.run(again));
      EXPECT_EQ(commits_of(resumed.state), commits_of(whole.state)) << "stopped after " << commits;
    }
  }
}

TEST(SearchLoop, CommitsNothingMoreOnceItIsHopelessOnAnySimulatedCluster) {
  for (const std::size_t slots : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    for (const std::optional<std::size_t> window :
         {std::optional<std::size_t>{}, std::optional<std::size_t>{16}}) {
      SimulatedRun run(slots, window);
      run.cluster.failing = kTrials;
      Enumeration searcher(100);
      const auto is_hopeless = [&] { return run.state.failed() == 5; };
      EXPECT_FALSE(run.run(searcher, is_hopeless, is_hopeless));
      EXPECT_EQ(run.state.trials().size(), 5U);
      EXPECT_TRUE(run.cluster.idle());
      EXPECT_EQ(run.observer.stops, 0) << "nobody asked it to stop";
    }
  }
}

TEST(SearchLoop, TicksAtMostTenTimesASecondOfItsClock) {
  SimulatedRun run(1, std::nullopt);
  Enumeration searcher(50);
  ASSERT_TRUE(run.run(searcher));
  EXPECT_GT(run.observer.ticks, 1);
  EXPECT_LE(run.observer.ticks, 1 + static_cast<int>(10 * run.cluster.now_s()));
}

}  // namespace
}  // namespace skyline::engine

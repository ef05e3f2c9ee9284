#include "engine/loop/search_loop.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "engine/engine_rig.hpp"
#include "engine/loop/front_training.hpp"
#include "engine/rungs.hpp"
#include "support/commit_log_of.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

/// A cluster that takes no time: its slots train trials for times of their own, and a pause of its clock
/// lasts until the next result.
class SimulatedCluster final : public Dispatcher, public Clock {
 public:
  explicit SimulatedCluster(std::size_t slots) : free_s_(slots, 0.0) {}

  void submit(std::span<const trial::Trial> trials) override {
    for (const trial::Trial& trial : trials) {
      const auto slot = std::ranges::min_element(free_s_);
      *slot = std::max(*slot, now_s_) + seconds(trial);
      ends_.emplace(*slot, trial);
      ++submitted;
    }
  }
  std::vector<Arrival> poll() override {
    std::vector<Arrival> arrivals;
    while (!ends_.empty() && ends_.begin()->first <= now_s_) {
      arrivals.push_back(result(ends_.begin()->second));
      ends_.erase(ends_.begin());
    }
    return arrivals;
  }
  void stop() override {
    for (auto& [end_s, trial] : std::exchange(ends_, {})) ends_.emplace(now_s_, std::move(trial));
    stopped_ = true;
  }
  bool idle() const override { return ends_.empty(); }

  double now_s() const override { return now_s_; }
  void pause() override {
    if (!ends_.empty()) now_s_ = std::max(now_s_, ends_.begin()->first);
  }
  void worked() override {}

  std::size_t submitted = 0;
  trial::TrialNumber failing = 0;  // those before fail

 private:
  static double seconds(const trial::Trial& trial) {
    return 1 + 99 * RandomStream(derive_seed(trial.number, "seconds", {})).uniform();
  }
  Arrival result(const trial::Trial& trial) const {
    if (stopped_) return {trial.name(), trial::Failure{trial::FailureKind::kStopped, "stopped"}, {}};
    if (trial.number < failing)
      return {trial.name(), trial::Failure{trial::FailureKind::kDiverged, "NaN"}, {}};
    return {
        trial.name(), trial::Measurements{{RandomStream(trial.seed).uniform()}}, {.train_s = seconds(trial)}};
  }

  double now_s_ = 0;
  bool stopped_ = false;
  std::vector<double> free_s_;  // when each slot is free
  std::multimap<double, trial::Trial> ends_;
};

/// Asks for one architecture after the other, whatever it is told, and remembers that.
class Enumeration final : public search::Searcher {
 public:
  explicit Enumeration(std::size_t trials) : trials_(trials) {}
  std::vector<trial::Proposal> ask(std::size_t room) override {
    std::vector<trial::Proposal> proposals;
    for (; proposals.size() < room && asked_ < trials_; ++asked_) {
      proposals.push_back({.architecture = architectures().at(asked_ % architectures().size()),
                           .origin = trial::Origin::kEnumerated,
                           .parents = {},
                           .iteration = 0,
                           .budget = {},
                           .start = {},
                           .trains = {}});
    }
    return proposals;
  }
  void tell(const trial::CommittedTrial& committed) override { told.push_back(committed.trial.number); }
  bool finished() const override { return asked_ == trials_; }
  std::string finish_reason() const override { return "all asked"; }
  std::size_t expected_trials() const override { return trials_; }

  std::vector<trial::TrialNumber> told;

 private:
  using Architectures = std::vector<std::shared_ptr<const space::Architecture>>;
  static const Architectures& architectures() {
    static const Architectures all = [] {
      Architectures made;
      for (std::int64_t i = 0; i < 32; ++i) {
        made.push_back(
            std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(i))));
      }
      return made;
    }();
    return all;
  }
  std::size_t trials_;
  std::size_t asked_ = 0;
};

/// One number alone is measured.
class OneMetric final : public trial::Evaluator {
 public:
  double predicted_cost(const trial::Trial& trial) const override {
    return static_cast<double>(1 + RandomStream(derive_seed(trial.number, "cost", {})).below(1000));
  }
  trial::Outcome evaluate(const trial::Trial&, trial::EvaluationContext&) override {
    return trial::Failure{trial::FailureKind::kException, "the cluster is simulated"};
  }
};

/// A whole run without a rank, a file or a second.
struct SimulatedRun {
  SimulatedRun(std::size_t slots, std::optional<std::size_t> window,
               const std::vector<trial::CommittedTrial>& journal = {},
               std::optional<std::size_t> virtual_slots = {})
      : cluster(slots), replay(testing::commit_log_of(journal), {}) {
    options.window = window;
    options.virtual_slots = virtual_slots;
    order = make_commit_order(options);
    state.account() = run::AccountBook(std::vector<run::SlotAccount>(1));
  }
  /// Returns whether it came to its end.
  bool run(
      search::Searcher& searcher, std::function<bool()> must_stop = [] { return false; },
      std::function<bool()> is_hopeless = {}) {
    SearchLoop loop(maker, replay, *order, cluster, cluster, state, {&observer}, std::move(must_stop),
                    std::move(is_hopeless));
    if (!loop.run(searcher, trial::Phase::kSearch)) return false;
    FrontTraining training(state, state.front().keys(), {10});
    if (!loop.run(training, trial::Phase::kFinal)) return false;
    loop.end_replay();
    return true;
  }
  std::vector<trial::CommittedTrial> journal() const {
    std::vector<trial::CommittedTrial> lines;
    for (const run::SharedTrial& committed : state.trials()) lines.push_back(*committed);
    return lines;
  }

  SimulatedCluster cluster;
  OneMetric evaluator;
  EngineOptions options;
  run::RunState state{test_objectives()};
  TrialMaker maker{options, evaluator, state};
  Replay replay;
  std::unique_ptr<CommitOrder> order;
  CountingObserver observer;
};

/// Equal for runs that committed the same in the same order.
std::vector<std::pair<trial::TrialName, double>> commits_of(const run::RunState& state) {
  std::vector<std::pair<trial::TrialName, double>> commits;
  for (const run::SharedTrial& committed : state.trials()) {
    commits.emplace_back(committed->trial.name(),
                         std::get<trial::Measurements>(committed->outcome).values.at(0));
  }
  return commits;
}

constexpr std::size_t kTrials = 5000;

TEST(TrialMaker, RefusesAProposalWithMoreParentsThanARecordHolds) {
  SimulatedRun run(1, 1);
  trial::Proposal proposal;
  proposal.architecture =
      std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(0)));
  proposal.parents = {0, 1, 2};
  EXPECT_THAT([&] { run.maker.make(proposal); },
              ::testing::ThrowsMessage<InternalError>(
                  ::testing::HasSubstr("the searcher proposed a trial with 3 parents, expected at most 2")));
}

TEST(TrialMaker, LetsAProposalOfAnyOriginInheritFromItsParentsUnlessItsStartIsChosen) {
  SimulatedRun run(1, 1);
  run.options.inherit = true;
  run.options.keep_weights = KeepWeights::kAll;
  const auto architecture =
      std::make_shared<const space::Architecture>(test_space().build(test_space().genotype_at(0)));
  for (const trial::TrialNumber number : {0U, 1U}) {
    const trial::Trial parent = run.maker.make({architecture, trial::Origin::kInitial, {}});
    run.state.add({std::make_shared<const trial::CommittedTrial>(
        trial::CommittedTrial{parent, trial::Measurements{{0.5, 0, 0}}, {}, number})});
  }
  for (const trial::Origin origin : {trial::Origin::kMutation, trial::Origin::kRandom}) {
    trial::Proposal child{architecture, origin, {1, 0}};
    EXPECT_EQ(run.maker.make(child).inherits()->from, 1U);
    child.start = trial::Inherit{.from = 0, .architecture = architecture, .share = 1};
    EXPECT_EQ(run.maker.make(child).inherits()->from, 0U) << "the searcher chose its start";
    child.parents = {};
    child.start = {};
    EXPECT_EQ(run.maker.make(child).inherits(), nullptr);
  }
}

/// A proposal that continues trial 0 of the run, which had 1 of 4 epochs.
trial::Proposal continuation(SimulatedRun& run) {
  trial::Proposal proposal;
  proposal.architecture =
      std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(0)));
  proposal.budget = {1};
  proposal.horizon = {4};
  const trial::Trial earlier = run.maker.make(proposal);
  run.state.add({std::make_shared<const trial::CommittedTrial>(
      trial::CommittedTrial{earlier, trial::Measurements{{0.5, 0, 0}}, {.rank = 3}, 0})});
  proposal.budget = {2};
  proposal.horizon = {};
  proposal.start = trial::Continue{0};
  return proposal;
}

TEST(TrialMaker, FillsInWhatFollowsFromTheTrialThatIsContinued) {
  SimulatedRun run(1, 1);
  const trial::Trial made = run.maker.make(continuation(run));
  const run::SharedTrial continued = run.state.search_trial(0);
  const trial::Trial& earlier = continued->trial;
  EXPECT_EQ(made.seed, earlier.seed);
  EXPECT_EQ(made.horizon().epochs, 4);
  EXPECT_EQ(made.continues()->epochs, 1);
  EXPECT_EQ(made.continues()->holder, 3);
  EXPECT_EQ(made.inherits(), nullptr);
}

TEST(TrialMaker, RefusesAContinuationThatIsNone) {
  SimulatedRun run(1, 1);
  const trial::Proposal good = continuation(run);
  const auto expect_error = [&](const char* text, const std::function<void(trial::Proposal&)>& change) {
    trial::Proposal bad = good;
    change(bad);
    EXPECT_THAT([&] { run.maker.make(bad); },
                ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr(text)));
  };
  expect_error("continues trial 0 with another architecture", [](trial::Proposal& proposal) {
    proposal.architecture =
        std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(9)));
  });
  expect_error("continues trial 0 with a budget that is not larger",
               [](trial::Proposal& proposal) { proposal.budget = {1}; });
  expect_error("continues trial 0 with a budget beyond its horizon",
               [](trial::Proposal& proposal) { proposal.budget = {5}; });
  expect_error("continues trial 0 in a full training",
               [](trial::Proposal& proposal) { proposal.trains = 0; });
  expect_error("a trial is not committed yet",
               [](trial::Proposal& proposal) { proposal.start = trial::Continue{1}; });
}

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

/// Does not care for results.
class FreeEnumeration final : public search::Searcher {
 public:
  explicit FreeEnumeration(std::size_t trials) : all_(trials) {}
  std::vector<trial::Proposal> ask(std::size_t room) override {
    return all_.ask(std::min(room, std::size_t{1000}));
  }
  void tell(const trial::CommittedTrial& committed) override { all_.tell(committed); }
  bool needs_results() const override { return false; }
  bool finished() const override { return all_.finished(); }
  std::string finish_reason() const override { return all_.finish_reason(); }
  std::size_t expected_trials() const override { return all_.expected_trials(); }

 private:
  Enumeration all_;
};

TEST(SearchLoop, KeepsMoreThanAThousandSlotsBusyForASearcherThatNeedsNoResults) {
  constexpr std::size_t kSlots = 3000;
  SimulatedRun run(kSlots, std::nullopt);
  run.state.account() = run::AccountBook(std::vector<run::SlotAccount>(kSlots));
  FreeEnumeration searcher(15'000);
  ASSERT_TRUE(run.run(searcher));
  EXPECT_LT(run.cluster.now_s(), 5 * 55 + 200) << "5 trials of 50 s a slot, with what ends last";
}

/// Answers every third ask alone, and checks that it is told nothing in between.
class Thinker final : public search::Searcher {
 public:
  explicit Thinker(std::size_t trials) : all_(trials) {}
  std::vector<trial::Proposal> ask(std::size_t room) override {
    thinks_ = ++asks_ % 3 != 0;
    return thinks_ ? std::vector<trial::Proposal>() : all_.ask(std::min(room, std::size_t{20}));
  }
  void tell(const trial::CommittedTrial& committed) override {
    EXPECT_FALSE(thinks_);
    all_.tell(committed);
  }
  bool is_thinking() const override { return thinks_; }
  bool finished() const override { return all_.finished(); }
  std::string finish_reason() const override { return all_.finish_reason(); }
  std::size_t expected_trials() const override { return all_.expected_trials(); }

 private:
  Enumeration all_;
  std::size_t asks_ = 0;
  bool thinks_ = false;
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

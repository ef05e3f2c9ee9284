#include "skyline/search/algorithm.hpp"

#include "engine/fixtures/ponderer.hpp"
#include "engine/fixtures/rungs.hpp"
#include "engine/fixtures/simulated_run.hpp"
#include "support/yaml_config.hpp"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

/// A search on a simulated cluster, and an order of commits.
struct BusyCase {
  std::string name;
  std::function<std::unique_ptr<search::Searcher>()> search;
  std::optional<std::size_t> window = {};
  std::optional<std::size_t> virtual_slots = {};
};

std::unique_ptr<search::Searcher> evolution(const std::string& more = {}) {
  const ConfigNode section = testing::config_from_yaml(
      "{algorithm: evolution_pareto, iterations: 4, initial: 6, max_unseen: 8" + more + "}");
  return search::make_searcher(section, test_space(), test_objectives(), 5);
}

std::vector<BusyCase> busy_cases() {
  const auto steady = [] { return evolution(", breed: commit"); };
  const auto rungs = [] { return std::make_unique<Rungs>(Rungs::Options{}); };
  return {{"generations", [] { return evolution(); }},
          {"generations_in_a_window", [] { return evolution(); }, 5},
          {"steady_by_number", steady, 5},
          {"steady_by_virtual_time", steady, 5, 3},
          {"continuing_by_number", rungs, 5},
          {"continuing_by_virtual_time", rungs, 5, 3},
          {"enumeration", [] { return std::make_unique<Enumeration>(30); }, 8}};
}

class BusySearch : public ::testing::TestWithParam<BusyCase> {
 protected:
  SimulatedRun make_run(std::size_t slots, const std::vector<trial::CommittedTrial>& journal = {}) {
    return {slots, GetParam().window, journal, GetParam().virtual_slots};
  }
  Ponderer searcher(Ponderer::Think think, Pondering& seen) {
    return {GetParam().search(), std::move(think), seen};
  }
};

TEST_P(BusySearch, IsAskedAndToldTheSameAsIfItHadAnsweredAtOnce) {
  SimulatedRun expected = make_run(3);
  Pondering instant;
  Ponderer quick = searcher({}, instant);
  ASSERT_TRUE(expected.run(quick));
  ASSERT_GT(instant.dialogue.size(), 20U);
  for (std::uint64_t salt = 0; salt < 3; ++salt) {
    SimulatedRun run = make_run(1 + 2 * salt);
    Pondering seen;
    Ponderer slow = searcher(random_thinking(salt), seen);
    ASSERT_TRUE(run.run(slow));
    EXPECT_EQ(seen.dialogue, instant.dialogue);
    EXPECT_EQ(commits_of(run.state), commits_of(expected.state));
    EXPECT_EQ(run.state.search_summary(), expected.state.search_summary());
    EXPECT_EQ(seen.stops, 0);
    EXPECT_EQ(run.observer.releases.size(), expected.observer.releases.size());
    for (const run::SharedTrial& committed : run.state.trials()) {
      if (const trial::Continue* earlier = committed->trial.continues()) {
        EXPECT_GT(run.observer.releases.at(earlier->from), committed->position);
      }
    }
  }
}

TEST_P(BusySearch, GoesOnWhereverItsJournalEnds) {
  SimulatedRun whole = make_run(3);
  Pondering instant;
  Ponderer quick = searcher({}, instant);
  ASSERT_TRUE(whole.run(quick));
  for (std::size_t lines = 0; lines <= whole.state.trials().size(); lines += 11) {
    std::vector<trial::CommittedTrial> journal = whole.journal();
    journal.resize(lines);
    SimulatedRun resumed = make_run(2, journal);
    Pondering seen;
    Ponderer slow = searcher(random_thinking(lines), seen);
    ASSERT_TRUE(resumed.run(slow));
    EXPECT_EQ(seen.dialogue, instant.dialogue);
    EXPECT_EQ(commits_of(resumed.state), commits_of(whole.state)) << lines;
    EXPECT_EQ(resumed.observer.replayed, lines);
  }
}

TEST_P(BusySearch, StopsWhileItThinksAndGoesOnToTheSameEnd) {
  SimulatedRun whole = make_run(3);
  Pondering instant;
  Ponderer quick = searcher({}, instant);
  ASSERT_TRUE(whole.run(quick));
  for (const std::size_t last : {0U, 1U, 4U}) {  // asks that are answered
    SimulatedRun stopped = make_run(3);
    Pondering seen;
    std::atomic<bool> thinks{false};
    Ponderer stuck = searcher(
        [&](std::size_t ask, const std::stop_token& stop) {
          if (ask < last) return;
          thinks = true;
          EXPECT_FALSE(wait_until([] { return false; }, stop));
          EXPECT_TRUE(stop.stop_requested()) << "nobody stopped it";
        },
        seen);
    EXPECT_FALSE(stopped.run(stuck, [&] { return thinks.load(); }));
    EXPECT_EQ(seen.stops, 1);
    EXPECT_TRUE(stopped.cluster.idle());
    SimulatedRun resumed = make_run(2, stopped.journal());
    Pondering again;
    Ponderer slow = searcher(random_thinking(last), again);
    ASSERT_TRUE(resumed.run(slow));
    EXPECT_EQ(commits_of(resumed.state), commits_of(whole.state));
    EXPECT_EQ(again.dialogue, instant.dialogue);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BusySearch, ::testing::ValuesIn(busy_cases()),
                         [](const auto& tested) { return tested.param.name; });

/// @param allows  trials that are committed while the searcher thinks about its second ask
void expect_commits_while_it_thinks(std::optional<std::size_t> virtual_slots, std::size_t allows) {
  SimulatedRun run(4, 6, {}, virtual_slots);
  Pondering seen;
  std::atomic<std::size_t> ticks{0};
  std::size_t most = 0;  // commits as of the end of that thought
  const auto think = [&](std::size_t ask, const std::stop_token& stop) {
    // The loop has then come to rest: it looks around at each turn.
    if (ask != 1) return;
    EXPECT_TRUE(wait_until([&] { return ticks > 1000; }, stop));
  };
  run.observer.on_asked = [&](const trial::Trial& trial) {
    if (trial.name() == trial::TrialName{6}) most = run.state.trials().size();
  };
  Ponderer searcher(std::make_unique<Enumeration>(20), think, seen);
  ASSERT_TRUE(run.run(searcher, [&] { return ++ticks == 0; }));
  EXPECT_EQ(most, allows);
}

TEST(SearchThatIsBusy, LetsTrialsBeCommittedByNumberAndNoneByVirtualTime) {
  expect_commits_while_it_thinks(std::nullopt, 6);
  expect_commits_while_it_thinks(3, 1);
}

TEST(SearchThatIsBusy, IsLeftWhereTheRunIsHopeless) {
  SimulatedRun run(4, 16);
  run.cluster.failing = 100;
  Pondering seen;
  const auto think = [](std::size_t ask, const std::stop_token& stop) {
    if (ask != 2) return;
    EXPECT_FALSE(wait_until([] { return false; }, stop));
  };
  Ponderer searcher(std::make_unique<Enumeration>(100), think, seen);
  const auto is_hopeless = [&] { return run.state.failed() == 5; };
  EXPECT_FALSE(run.run(searcher, is_hopeless, is_hopeless));
  EXPECT_EQ(run.state.trials().size(), 5U);
  EXPECT_EQ(seen.stops, 1);
}

/// Needs no results, and gives out what it has found so far.
TEST(SearchThatIsBusy, GivesOutPartsOfWhatItIsAskedFor) {
  class PartWise final : public search::Searcher {
   public:
    search::Answer ask(std::size_t room) override {
      search::Answer answer = all_.ask(std::min<std::size_t>(room, ++asks_ % 3));
      answer.state = all_.finished() ? search::Answer::State::kAnswered : search::Answer::State::kBusy;
      return answer;
    }
    void tell(const trial::CommittedTrial& /*committed*/) override {}
    bool needs_results() const override { return false; }
    bool finished() const override { return all_.finished(); }
    std::string finish_reason() const override { return "done"; }
    std::size_t expected_trials() const override { return 50; }

   private:
    Enumeration all_{50};
    std::size_t asks_ = 0;
  };
  SimulatedRun run(3, std::nullopt);
  PartWise searcher;
  ASSERT_TRUE(run.run(searcher));
  EXPECT_EQ(run.state.committed(trial::Phase::kSearch), 50U);
}

}  // namespace
}  // namespace skyline::engine

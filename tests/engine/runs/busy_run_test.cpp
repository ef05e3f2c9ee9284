#include "skyline/search/algorithm.hpp"

#include "engine/fixtures/ponderer.hpp"
#include "engine/fixtures/shared_run_test.hpp"
#include "store/journal/journal.hpp"

#include <atomic>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

/// Runs whose search thinks on a thread of rank 0.
class BusyRun : public SharedRunTest {
 protected:
  /// Returns a run that commits by virtual time if there are virtual slots.
  static RunSpec spec(std::optional<std::size_t> window, std::optional<std::size_t> virtual_slots = {}) {
    RunSpec made = evolution_spec();
    if (window) made.search.set("breed", ConfigNode::make_scalar("commit", {}));
    made.options.window = window;
    made.options.virtual_slots = virtual_slots;
    if (virtual_slots) made.options.commit = CommitBy::kVirtualTime;
    made.options.slots = 2;
    return made;
  }
  /// The same search, which thinks; what it went through is in seen_.
  RunSpec thinking(const RunSpec& spec, Ponderer::Think think) {
    RunSpec made = spec;
    made.searcher = [this, search = spec.search, seed = spec.options.seed, epochs = spec.epochs,
                     think = std::move(think)] {
      seen_ = {};
      return std::make_unique<Ponderer>(
          search::make_searcher(search, test_space(), test_objectives(), seed, {epochs}), think, seen_);
    };
    return made;
  }
  void expect_same_journal(const std::string& name, const RunSpec& instant) {
    const std::string expected = rank() == 0 ? canonical_of_one_process(instant) : "";
    RunSpec busy = thinking(instant, random_thinking(static_cast<std::uint64_t>(size())));
    if (rank() == 0) {
      EXPECT_EQ(canonical_of_one_process(busy), expected) << name;
    }
    busy.hook = shuffling_delay();
    run(name, busy);
    if (rank() != 0) return;
    EXPECT_EQ(canonical(name), expected) << name;
    EXPECT_GT(seen_.dialogue.size(), 6U);
  }
  std::size_t lines(const std::string& name) { return store::count_trials(journal(name)); }
  /// Results that are saved and not in the journal.
  std::size_t waiting(const std::string& name) {
    const store::RunPaths paths{root() / name};
    const store::JournalContents journal = store::read_journal(paths.journal(), test_space());
    return store::read_waiting_results(paths, journal.header, test_space(), journal.entries).size();
  }

  Pondering seen_;
};

TEST_F(BusyRun, HasTheSameJournalHoweverLongItThinksOnAnyNumberOfRanks) {
  expect_same_journal("generations", spec(std::nullopt));
  expect_same_journal("by_number", spec(5));
  expect_same_journal("by_virtual_time", spec(5, 2));
  RunSpec inheriting = spec(4);
  inheriting.options.inherit = true;
  inheriting.options.keep_weights = KeepWeights::kFront;
  expect_same_journal("inheriting", inheriting);
}

TEST_F(BusyRun, HasItsResultsInTheJournalWhileItThinks) {
  const auto think = [this](std::size_t ask, const std::stop_token& stop) {
    if (ask != 1) return;
    EXPECT_TRUE(wait_until([this] { return lines("number") == 6; }, stop));
  };
  run("number", thinking(spec(6), think));
}

/// Each rank writes what it has after a minute; nothing but the wait for the search makes it write before.
TEST_F(BusyRun, SavesResultsThatMayNotBeCommittedBeforeItHasThought) {
  for (const std::string name : {"virtual_time", "inheriting"}) {
    RunSpec instant = spec(6, name == "virtual_time" ? std::optional<std::size_t>(2) : std::nullopt);
    instant.options.inherit = name == "inheriting";
    instant.options.keep_weights = KeepWeights::kFront;
    run(name, thinking(instant, [this, name](std::size_t ask, const std::stop_token& stop) {
          if (ask != 1) return;
          EXPECT_TRUE(wait_until([&] { return waiting(name) == 5; }, stop));
          EXPECT_EQ(lines(name), 1U);
        }));
    if (rank() == 0) {
      EXPECT_THAT(checkpoints(name), ::testing::IsEmpty());
    }
  }
}

TEST_F(BusyRun, StopsAtOnceAndGoesOnToTheSameJournal) {
  for (const std::string name : {"number", "virtual_time"}) {
    const RunSpec instant = spec(5, name == "number" ? std::nullopt : std::optional<std::size_t>(2));
    const std::string expected = rank() == 0 ? canonical_of_one_process(instant) : "";
    std::atomic<bool> thinks{false};
    RunSpec stuck = thinking(instant, [&](std::size_t ask, const std::stop_token& stop) {
      if (ask != 3) return;
      thinks = true;
      EXPECT_FALSE(wait_until([] { return false; }, stop));
      EXPECT_TRUE(stop.stop_requested()) << "nobody stopped it";
    });
    stuck.stop_requested = [&] { return thinks.load(); };
    const RigRun first = run(name, stuck);
    EXPECT_TRUE(rank() != 0 || first.result.stopped);
    EXPECT_EQ(seen_.stops, rank() == 0 ? 1 : 0);
    run(name, thinking(instant, random_thinking(3)), true);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical(name), expected);
    EXPECT_EQ(seen_.stops, 0);
  }
}

TEST_F(BusyRun, LeavesTheMainThreadIdle) {
  const auto think = [](std::size_t ask, const std::stop_token&) {
    if (ask == 2) std::this_thread::sleep_for(std::chrono::seconds(2));
  };
  bool is_idle = false;
  for (int round = 0; round < 5 && !is_idle; ++round) {  // a virtual machine may count what others use
    run("idle_" + std::to_string(round), thinking(spec(4), think));
    EXPECT_TRUE(rank() != 0 || seen_.wall_s > 2);
    is_idle = on_all_ranks(rank() != 0 || seen_.main_cpu_s < 0.02 * seen_.wall_s);
  }
  EXPECT_TRUE(is_idle) << seen_.main_cpu_s;
}

}  // namespace
}  // namespace skyline::engine

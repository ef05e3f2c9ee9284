#include "engine/fixtures/shared_run_test.hpp"
#include "store/journal/journal.hpp"

#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using trial::Trial;
using trial::TrialNumber;
using Names = std::set<std::string>;  // names of trials
using ::testing::IsEmpty;

constexpr TrialNumber kStraggler = 3;

/// Runs with a straggler, which is over when other results stand in files. What a kill would leave at that
/// time is copied: the journal and the files of results.
class WaitingResultsRun : public SharedRunTest {
 protected:
  static RunSpec spec(double interval_s) {
    RunSpec made = evolution_spec();
    made.search.set("initial", ConfigNode::make_integer(16));
    made.options.slots = 2;
    made.options.checkpoints =
        CheckpointOptions{.interval_s = interval_s, .interval_epochs = {}, .most_overhead = 1e9};
    return made;
  }
  trial::ResultsByName saved(const std::filesystem::path& folder) {
    const store::RunPaths paths{folder};
    const store::JournalContents journal = store::read_journal(paths.journal(), test_space());
    return store::read_waiting_results(paths, journal.header, test_space(), journal.entries);
  }
  static bool has_checkpoint(const std::filesystem::path& folder, trial::TrialName trial) {
    const std::string name = to_text(trial);
    const std::filesystem::path checkpoints = store::RunPaths{folder}.checkpoints();
    return std::filesystem::exists(checkpoints / (name + ".0.h5")) ||
           std::filesystem::exists(checkpoints / (name + ".1.h5"));
  }
  void copy(const std::string& from, const std::string& to) {
    const store::RunPaths source{root() / from};
    const store::RunPaths target{root() / to};
    std::filesystem::create_directories(target.checkpoints());
    std::filesystem::copy_file(source.journal(), target.journal());
    for (int i = 0; i < size(); ++i) {
      const std::string name = "results." + std::to_string(i) + ".jsonl";
      if (!std::filesystem::exists(source.checkpoints() / name)) continue;
      std::filesystem::copy_file(source.checkpoints() / name, target.checkpoints() / name);
    }
  }
  /// The straggler of the run `name` waits for three results in files that stay there until it ends, and
  /// leaves the copy `killed`.
  HookedEvaluator::Hook straggle(const std::string& name, const std::string& killed) {
    return [=, this](const Trial& trial) {
      if (trial.name() != trial::TrialName{kStraggler}) return;
      const auto enough = [&] {
        const trial::ResultsByName results = saved(root() / name);
        const auto stays = [](const auto& result) { return result.first.number > kStraggler; };
        return std::ranges::count_if(results, stays) >= 3 &&
               std::ranges::none_of(
                   results, [&](const auto& result) { return has_checkpoint(root() / name, result.first); });
      };
      const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      // True for a moment only: the next result is at first beside its checkpoint.
      bool is_enough = enough();
      for (; !is_enough && std::chrono::steady_clock::now() < limit; is_enough = enough()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_TRUE(is_enough);
      copy(name, killed);
    };
  }
  /// Trained to the end by any rank, on all ranks.
  Names trained(const RigRun& job) {
    std::string text;
    for (const std::string& name : job.completed) text += name + ' ';
    std::string all;
    for (const std::string& line : comm::gather(world(), text)) all += line;
    std::istringstream words(comm::share(world(), all));
    return {std::istream_iterator<std::string>(words), {}};
  }
  Names names_in(const std::string& name) {
    Names names;
    for (const auto& [trial, result] : saved(root() / name)) names.insert(to_text(trial));
    comm::wait(*world().barrier());  // nobody changes the folder before all have read
    return names;
  }
  Names committed_in(const std::string& name) {
    const trial::CommitLog entries = store::read_journal(journal(name), test_space()).entries;
    Names names;
    for (trial::CommitPosition i = 0; i < entries.size(); ++i) names.insert(to_text(entries.name_at(i)));
    comm::wait(*world().barrier());
    return names;
  }
  std::size_t files_left(const std::string& name) {
    const std::filesystem::directory_iterator all(store::RunPaths{root() / name}.checkpoints());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
};

void expect_none_of(const Names& trained, const Names& kept) {
  Names both;
  std::ranges::set_intersection(trained, kept, std::inserter(both, both.end()));
  EXPECT_THAT(both, IsEmpty()) << "trained again";
}

TEST_F(WaitingResultsRun, OutliveKillsWhileShortTrialsWaitBehindAStraggler) {
  RunSpec job = spec(0.02);
  const std::string expected = rank() == 0 ? canonical_of_one_process(job) : "";
  job.hook = straggle("first", "killed");
  run("first", job);
  const Names kept = names_in("killed");
  EXPECT_GE(kept.size(), 3U);

  job.hook = straggle("killed", "killed_again");
  expect_none_of(trained(run("killed", job, true)), kept);
  const Names kept_again = names_in("killed_again");
  // It may include a trial that waited behind an earlier one and is committed by now.
  Names known = committed_in("killed_again");
  known.insert(kept_again.begin(), kept_again.end());
  EXPECT_TRUE(std::ranges::includes(known, kept)) << "the second kill lost what the first had left";

  job.hook = {};
  expect_none_of(trained(run("killed_again", job, true)), kept_again);
  if (rank() != 0) return;
  for (const std::string name : {"first", "killed", "killed_again"}) {
    EXPECT_EQ(canonical(name), expected) << name;
    EXPECT_EQ(files_left(name), 0U) << name;
  }
}

TEST_F(WaitingResultsRun, TakeThePlaceOfTheCheckpointsOfTheirTrials) {
  RunSpec job = spec(0);  // all trials are saved after each step
  job.hook = [straggler = straggle("saved", "copy")](const Trial& trial) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // else the buffers are still under way
    straggler(trial);
  };
  const RigRun all = run("saved", job);
  if (rank() != 0) return;
  EXPECT_EQ(files_left("saved"), 0U);
  EXPECT_EQ(all.result.unsaved, 0U);
}

TEST_F(WaitingResultsRun, OfAnotherTrialAreNotTaken) {
  RunSpec job = spec(0.02);
  job.hook = straggle("seed", "other");
  run("seed", job);
  const Names kept = names_in("other");
  job.hook = {};
  job.final_epochs = 3;
  job.epochs = 0.5;
  const std::string expected = rank() == 0 ? canonical_of_one_process(job) : "";
  if (rank() == 0) {  // a run whose journal has nothing yet, so that all trials may be others
    std::filesystem::remove(journal("other"));
    const store::JournalHeader header = store::read_journal(journal("seed"), test_space()).header;
    store::JournalWriter::create(journal("other"), header);
  }
  comm::wait(*world().barrier());
  const Names done = trained(run("other", job, true));
  EXPECT_TRUE(std::ranges::includes(done, kept));
  if (rank() != 0) return;
  EXPECT_EQ(canonical("other"), expected);
}

}  // namespace
}  // namespace skyline::engine

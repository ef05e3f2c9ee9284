#include "comm/environment.hpp"
#include "engine/fixtures/engine_rig.hpp"
#include "engine/loop/trial_maker.hpp"
#include "engine/weights/weights_keeper.hpp"
#include "space/network/network_alignment.hpp"
#include "store/weights/weights.hpp"
#include "support/short_patience.hpp"
#include "support/user_error_of.hpp"

#include <chrono>
#include <fstream>
#include <future>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using trial::CommittedTrial;
using trial::Origin;
using trial::TrialNumber;

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<const space::Architecture> architecture(std::uint32_t depth, std::uint32_t width) {
  return std::make_shared<const space::Architecture>(test_space().build({{depth, width, 0}}));
}

CommittedTrial committed(TrialNumber number, std::shared_ptr<const space::Architecture> built) {
  trial::Trial trial;
  trial.number = number;
  trial.proposal.architecture = std::move(built);
  return {trial, trial::Measurements{}, {}};
}

double share_of(const CommittedTrial& parent, const trial::Proposal& child) {
  const space::Network& from = parent.trial.architecture().network();
  const space::Network& to = child.architecture->network();
  return space::inherited_share(from, to, space::align(from, to));
}

/// All parents' weights are there but those of `gone`.
trial::Start start_of(const trial::Proposal& child, const std::vector<CommittedTrial>& all,
                      const std::set<TrialNumber>& gone = {}) {
  return choose_start(child, [&](TrialNumber number) {
    return gone.contains(number) ? nullptr : std::make_shared<const CommittedTrial>(all[number]);
  });
}

TrialNumber inherited(const trial::Start& start) {
  return std::get<trial::Inherit>(start).from;
}

TEST(ChooseStart, TakesTheParentThatFillsMore) {
  std::vector<CommittedTrial> all = {committed(0, architecture(0, 0)), committed(1, architecture(2, 3))};
  all[1].timing.rank = 17;
  const trial::Proposal child{architecture(3, 3), Origin::kCrossover, {0, 1}, 1};
  const trial::Start start = start_of(child, all);
  const auto* inherits = std::get_if<trial::Inherit>(&start);
  ASSERT_NE(inherits, nullptr);
  EXPECT_GT(share_of(all[1], child), share_of(all[0], child));
  EXPECT_EQ(inherits->from, 1U);
  EXPECT_EQ(inherits->share, share_of(all[1], child));
  EXPECT_EQ(inherits->architecture->id, all[1].trial.architecture().id);
  EXPECT_EQ(inherits->holder, 17);
}

TEST(ChooseStart, PassesOverParentsWhoseWeightsAreGone) {
  const std::vector<CommittedTrial> all = {committed(0, architecture(0, 0)),
                                           committed(1, architecture(2, 3))};
  const trial::Proposal child{architecture(3, 3), Origin::kCrossover, {0, 1}, 1};
  EXPECT_EQ(inherited(start_of(child, all, {1})), 0U);
  EXPECT_TRUE(std::holds_alternative<trial::Fresh>(start_of(child, all, {0, 1})));
}

TEST(ChooseStart, TakesTheFirstOfEqualParents) {
  const std::vector<CommittedTrial> all = {committed(0, architecture(2, 2)),
                                           committed(1, architecture(2, 2))};
  const trial::Proposal child{architecture(3, 2), Origin::kCrossover, {1, 0}, 1};
  EXPECT_EQ(inherited(start_of(child, all)), 1U);
}

RunSpec inheriting_spec(KeepWeights keep) {
  RunSpec spec = evolution_spec(4);
  spec.options.keep_weights = keep;
  spec.options.inherit = true;
  spec.options.inherit_key = "training.inherit";
  spec.options.window = 4;
  spec.options.slots = 2;
  return spec;
}

class InheritingRun : public ::testing::Test {
 protected:
  RigRun run(const RunSpec& spec, bool resume = false) {
    return run_in(*environment_, folder_.path(), spec, resume);
  }
  const std::filesystem::path& root() { return folder_.path(); }
  comm::Environment& environment() { return *environment_; }

 private:
  std::unique_ptr<comm::Environment> environment_ = comm::make_local_environment();
  ScratchFolder folder_;
};

TEST_F(InheritingRun, GivesChildrenTheWeightsThatTheJournalNames) {
  for (const KeepWeights keep : {KeepWeights::kFront, KeepWeights::kAll}) {
    std::filesystem::remove(root() / "journal.jsonl");
    const RigRun all = run(inheriting_spec(keep));
    std::map<TrialNumber, TrialNumber> recorded;
    for (const CommittedTrial& entry : all.result.committed) {
      const trial::Trial& trial = entry.trial;
      if (!trial.inherits()) continue;
      recorded[trial.number] = trial.inherits()->from;
      EXPECT_EQ(trial.phase(), trial::Phase::kSearch);
      EXPECT_THAT(trial.proposal.parents, ::testing::Contains(trial.inherits()->from));
      EXPECT_GT(trial.inherits()->share, 0);
    }
    EXPECT_FALSE(recorded.empty());
    EXPECT_EQ(all.heirs, recorded);
  }
}

TEST_F(InheritingRun, KeepsTheWeightsOfTheFrontAloneInTheEnd) {
  const RigRun all = run(inheriting_spec(KeepWeights::kFront));
  std::set<std::string> expected;
  for (const CommittedTrial& entry : all.result.committed) {
    if (!all.result.on_front[entry.position]) continue;
    expected.insert(to_text(entry.trial.name()));
  }
  EXPECT_THAT(weight_ids(root()), ::testing::ElementsAreArray(expected));
}

TEST_F(InheritingRun, ReplaysToTheSameInheritance) {
  const RunSpec spec = inheriting_spec(KeepWeights::kFront);
  run(spec);
  const std::string expected = store::canonical_journal(root() / "journal.jsonl");
  const RigRun again = run(spec, true);
  EXPECT_EQ(again.evaluations, 0);
  EXPECT_EQ(store::canonical_journal(root() / "journal.jsonl"), expected);
  RunSpec without = spec;
  without.options.inherit = false;
  EXPECT_THAT(testing::user_error_of([&] { run(without, true); }), HasSubstr("from the weights of trial "));
}

/// Returns the file whose weights a trial inherits.
std::filesystem::path inherited_file(const std::filesystem::path& root, const trial::Trial& trial) {
  return store::RunPaths{root}.weights({trial.inherits()->from});
}

TEST_F(InheritingRun, StartsChildrenOfItsOwnTrialsWithoutTheFile) {
  RunSpec spec = inheriting_spec(KeepWeights::kAll);
  spec.options.window = 1;
  const std::string expected = canonical_of_one_process(spec);
  spec.hook = [&](const trial::Trial& trial) {
    if (trial.inherits()) std::filesystem::remove(inherited_file(root(), trial));
  };
  EXPECT_FALSE(run(spec).heirs.empty());
  EXPECT_EQ(store::canonical_journal(root() / "journal.jsonl"), expected);
}

constexpr const char* kWayOut =
    " (bring the file back from a backup and resume with --resume, or start a new run with training.inherit: "
    "false)";

TEST_F(InheritingRun, EndsWithAnErrorThatNamesWeightsThatAreDamaged) {
  RunSpec spec = inheriting_spec(KeepWeights::kFront);
  spec.options.window = 1;
  spec.options.recent_weights_bytes = 0;
  std::string expected;
  spec.hook = [&](const trial::Trial& trial) {
    if (!trial.inherits()) return;
    const auto file = inherited_file(root(), trial);
    std::ofstream(file, std::ios::binary) << "broken";
    expected = "trial " + std::to_string(trial.number) + " cannot start from the weights of trial " +
               std::to_string(trial.inherits()->from) + ": " + file.string() + ": not an HDF5 file, ";
  };
  const std::string error = testing::user_error_of([&] { run(spec); });
  EXPECT_THAT(error, ::testing::StartsWith(expected));
  EXPECT_THAT(error, ::testing::EndsWith(kWayOut));
}

TEST_F(InheritingRun, EndsWithAnErrorThatNamesWeightsThatNeverShow) {
  const testing::ShortPatience patience(0.05);
  RunSpec spec = inheriting_spec(KeepWeights::kFront);
  spec.options.window = 1;
  spec.options.recent_weights_bytes = 0;
  std::filesystem::path file;
  spec.hook = [&](const trial::Trial& trial) {
    if (!trial.inherits()) return;
    file = inherited_file(root(), trial);
    std::filesystem::remove(file);
  };
  EXPECT_THAT(testing::fault_error_of([&] { run(spec); }),
              AllOf(HasSubstr(file.string() + ": there is no such file after "),
                    HasSubstr(std::string(" of waiting") + kWayOut)));
}

TEST_F(InheritingRun, StopsWhileATrialWaitsForItsParentsWeightsAndGoesOn) {
  RunSpec spec = inheriting_spec(KeepWeights::kFront);
  spec.options.window = 1;
  spec.options.recent_weights_bytes = 0;
  const std::string expected = canonical_of_one_process(spec);
  RunSpec stopped = spec;
  std::filesystem::path file;
  std::atomic<bool> asked{false};
  stopped.hook = [&](const trial::Trial& trial) {
    if (!trial.inherits()) return;
    file = inherited_file(root(), trial);
    std::filesystem::rename(file, root() / "aside.h5");
    asked = true;
  };
  stopped.stop_requested = [&] { return asked.load(); };
  EXPECT_TRUE(run(stopped).result.stopped);
  std::filesystem::rename(root() / "aside.h5", file);
  EXPECT_FALSE(run(spec, true).result.stopped);
  EXPECT_EQ(store::canonical_journal(root() / "journal.jsonl"), expected);
}

/// The engine's parts that handle weights, without a run.
class WeightsOfARun : public InheritingRun {
 protected:
  /// The trial whose weights file is written, which `heir` trials are to inherit from.
  trial::Trial trial(TrialNumber number, std::uint32_t width) {
    trial::Trial made = committed(number, architecture(1, width)).trial;
    std::ofstream(paths_.weights(made.name())) << "weights";
    return made;
  }
  static trial::Trial heir(TrialNumber number, const trial::Trial& parent) {
    trial::Trial made = committed(number, architecture(0, 0)).trial;
    made.proposal.start = trial::Inherit{parent.number, parent.proposal.architecture, 0.5};
    return made;
  }
  bool is_there(const trial::Trial& made) {
    storage_.drain();
    return std::filesystem::exists(paths_.weights(made.name()));
  }
  void SetUp() override { std::filesystem::create_directories(root() / "weights"); }

  store::RunPaths paths_{root()};
  store::StorageThread storage_;
  const RunFiles files_{paths_, {}, storage_};
};

class Source : public WeightsOfARun {
 protected:
  using Tensors = std::shared_ptr<const std::vector<trial::NamedTensor>>;

  /// A reading by another thread, of a file that is not there.
  std::future<Tensors> start_reading() {
    std::filesystem::remove(inherited_file(root(), heir_));
    return std::async(std::launch::async, [this] { return source_(heir_, stop_, timing_); });
  }
  void write_weights(float value) {
    store::WeightsFile weights;
    weights.trial = parent_.number;
    weights.tensors = {{"linear_0.bias", {1}, {value}}};
    store::write_weights(inherited_file(root(), heir_), weights);
  }

  std::atomic<bool> stop_{false};
  trial::TrialTiming timing_;  // timing of the thread that reads
  const trial::Trial parent_ = committed(3, architecture(1, 1)).trial;
  const trial::Trial heir_ = heir(5, parent_);
  const WeightsSource source_ = make_weights_source(files_, nullptr, nullptr, "training.inherit");
};

TEST_F(Source, WaitsForAFileThatDoesNotShowYetAndLeavesTheStorageThreadToOthers) {
  std::future<Tensors> reading = start_reading();
  bool journalled = false;
  storage_.submit([&] { journalled = true; });
  storage_.drain();
  EXPECT_TRUE(journalled);
  EXPECT_NE(reading.wait_for(std::chrono::milliseconds(50)), std::future_status::ready);
  write_weights(2.5F);
  EXPECT_EQ(reading.get()->at(0).values.at(0), 2.5F);
  EXPECT_GT(timing_.wait_files_s, 0);
  EXPECT_EQ(timing_.wait_ranks_s, 0);
}

TEST_F(Source, GivesNothingToATrialThatIsAskedToStopWhileItWaits) {
  std::future<Tensors> reading = start_reading();
  EXPECT_NE(reading.wait_for(std::chrono::milliseconds(50)), std::future_status::ready);
  stop_ = true;
  EXPECT_EQ(reading.get(), nullptr);
}

class Removal : public WeightsOfARun {
 protected:
  /// A trial that is no member of the front, which it leaves at once.
  void drop(WeightsRemoval& removal, const trial::Trial& dropped) {
    commit(removal, dropped, trial::Failure{trial::FailureKind::kDiverged, "NaN"});
  }
  void commit(WeightsRemoval& removal, const trial::Trial& trial, trial::Outcome outcome) {
    const run::Commit commit{std::make_shared<const CommittedTrial>(
        CommittedTrial{trial, std::move(outcome), {}, state_.trials().size()})};
    state_.add(commit);
    removal.committed(commit, state_);
  }
  /// The result of a trial that stays on the front.
  static trial::Outcome success() { return trial::Measurements{{0.5, 0, 0}}; }

  run::RunState state_{test_objectives()};
  WeightsRemoval removal_{files_, KeepWeights::kFront, 0, true};
};

TEST_F(Removal, InAReplayWaitsForItsEnd) {
  const trial::Trial gone = trial(0, 1);
  const trial::Trial back = trial(1, 2);
  const trial::Trial last = trial(2, 0);
  const trial::Trial other = trial(3, 3);
  WeightsRemoval replayed(files_, KeepWeights::kFront, 3, true);
  drop(replayed, gone);
  drop(replayed, back);
  EXPECT_TRUE(is_there(gone));
  replayed.asked(back);
  commit(replayed, last, success());
  EXPECT_FALSE(is_there(gone));
  EXPECT_TRUE(is_there(back)) << "it is trained once more";
  EXPECT_TRUE(is_there(last));
  EXPECT_TRUE(is_there(other));
  drop(replayed, other);
  EXPECT_FALSE(is_there(other)) << "from now on at once";
}

TEST_F(Removal, LooksInANewRunForNoWeightsOfATrialThatFailed) {
  const trial::Trial failed = trial(0, 1);
  WeightsRemoval fresh(files_, KeepWeights::kFront, 0, false);
  drop(fresh, failed);
  EXPECT_TRUE(is_there(failed));
}

TEST_F(Removal, WaitsForTheLastTrialInFlightThatInherits) {
  const trial::Trial parent = trial(0, 1);
  removal_.asked(heir(1, parent));
  removal_.asked(heir(2, parent));
  drop(removal_, parent);
  EXPECT_TRUE(is_there(parent));
  commit(removal_, heir(1, parent), success());
  EXPECT_TRUE(is_there(parent));
  commit(removal_, heir(2, parent), success());
  EXPECT_FALSE(is_there(parent));
}

TEST_F(Removal, WaitsUntilNobodyMayContinueTheTrialThatInherits) {
  const trial::Trial parent = trial(0, 1);
  trial::Trial first = heir(1, parent);
  first.proposal.horizon = {4};
  trial::Trial second = heir(2, parent);
  second.proposal.start = trial::Continue{1, 1, *first.inherits()};
  removal_.asked(first);
  drop(removal_, parent);
  commit(removal_, first, success());
  removal_.asked(second);
  commit(removal_, second, success());
  EXPECT_TRUE(is_there(parent));
  removal_.released(first);
  EXPECT_FALSE(is_there(parent));
}

TEST_F(Removal, HappensAtOnceWhenNobodyInherits) {
  const trial::Trial parent = trial(0, 1);
  const trial::Trial other = trial(1, 2);
  removal_.asked(heir(2, other));
  drop(removal_, parent);
  EXPECT_FALSE(is_there(parent));
  EXPECT_TRUE(is_there(other));
  commit(removal_, heir(2, other), success());
  EXPECT_TRUE(is_there(other)) << "it was not dropped";
}

TEST_F(Removal, LeavesEverythingWhereAllWeightsAreKept) {
  const trial::Trial failed = trial(0, 1);
  WeightsRemoval keeps_all(files_, KeepWeights::kAll, 0, false);
  drop(keeps_all, failed);
  EXPECT_TRUE(is_there(failed));
}

}  // namespace
}  // namespace skyline::engine

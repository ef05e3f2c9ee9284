#include "skyline/search/pareto.hpp"

#include "engine/fixtures/shared_run_test.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"
#include "store/weights/weights.hpp"
#include "support/cpu_seconds.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using trial::Failure;
using trial::FailureKind;

using RunTest = BothWaysTest;

struct Variant {
  std::string name;
  std::string algorithm;
  std::optional<std::size_t> window;
  std::size_t slots;
  std::optional<std::size_t> virtual_slots = {};
};

TEST_P(RunTest, WritesTheSameJournalOnAnyNumberOfRanksAndSlots) {
  const std::vector<Variant> variants = {{"generation", "evolution_pareto", std::nullopt, 1},
                                         {"generation_2_slots", "evolution_pareto", std::nullopt, 2},
                                         {"window_1", "evolution_pareto", 1, 1},
                                         {"window_5", "evolution_pareto", 5, 2},
                                         {"random", "random", std::nullopt, 2},
                                         {"random_window_7", "random", 7, 3},
                                         {"virtual_time", "steady_evolution", 6, 2, 3},
                                         {"virtual_time_one_slot", "steady_evolution", 5, 1, 4},
                                         {"random_virtual_time", "random", 7, 3, 3},
                                         {"exhaustive", "exhaustive", std::nullopt, 1}};
  for (const Variant& variant : variants) {
    RunSpec spec = evolution_spec();
    if (variant.algorithm == "steady_evolution") {
      spec.search.set("breed", ConfigNode::make_scalar("commit", {}));
    } else if (variant.algorithm != "evolution_pareto") {
      spec.search = testing::config_from_yaml("{algorithm: " + variant.algorithm + ", trials: 20}");
    }
    spec.options.window = variant.window;
    spec.options.virtual_slots = variant.virtual_slots;
    if (variant.virtual_slots) spec.options.commit = CommitBy::kVirtualTime;
    spec.options.slots = 1;
    const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
    spec.options.slots = variant.slots;
    spec.hook = shuffling_delay();
    const RigRun all = run(variant.name, spec);
    if (rank() != 0) {
      EXPECT_TRUE(all.result.committed.empty());
      continue;
    }
    EXPECT_EQ(canonical(variant.name), expected) << variant.name;
    EXPECT_EQ(all.result.account.slots.size(), variant.slots * static_cast<std::size_t>(size()));
    std::size_t trials = 0;
    for (const run::SlotAccount& slot : all.result.account.slots) trials += slot.trials;
    EXPECT_EQ(trials, all.result.committed.size());
  }
}

TEST_P(RunTest, TakesRanksWithDifferentNumbersOfSlots) {
  RunSpec spec = evolution_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.options.slots = 1 + static_cast<std::size_t>(rank());
  spec.hook = shuffling_delay();
  const RigRun all = run("uneven", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("uneven"), expected);
  EXPECT_EQ(all.observer.slots, static_cast<std::size_t>(size() * (size() + 1) / 2));
}

TEST_P(RunTest, LetsRankZeroCoordinateOnly) {
  if (size() == 1) return;  // refused: local_run_test.cpp
  RunSpec spec = evolution_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.options.coordinator_only = true;
  const RigRun all = run("coordinator", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("coordinator"), expected);
  EXPECT_EQ(all.evaluations, 0);
  for (const run::SlotAccount& slot : all.result.account.slots) EXPECT_GT(slot.rank, 0);
}

TEST_P(RunTest, StartsChildrenOfAnyRanksTrialsWithoutTheFile) {
  RunSpec spec = evolution_spec();
  spec.search.set("iterations", ConfigNode::make_integer(4));
  spec.options.inherit = true;
  spec.options.keep_weights = KeepWeights::kAll;
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  expect_strangers([&](const std::string& name, std::atomic<std::size_t>& strangers) {
    spec.hook = [&](const trial::Trial& trial) {
      if (!trial.inherits()) return;
      if (trial.inherits()->holder != rank()) ++strangers;  // a child of another rank's trial
      const store::RunPaths paths{root() / name};
      std::filesystem::remove(paths.weights({trial.inherits()->from}));
    };
    run(name, spec);
    EXPECT_TRUE(rank() != 0 || canonical(name) == expected);
  });
}

TEST_P(RunTest, GoesOnAfterACutAtAnyLine) {
  for (const std::string name : {"generation_", "window_", "virtual_time_"}) {
    RunSpec spec = evolution_spec();
    if (name != "generation_") spec.options.window = 4;
    if (name == "virtual_time_") {
      spec.options.virtual_slots = 2;
      spec.options.commit = CommitBy::kVirtualTime;
      spec.search.set("breed", ConfigNode::make_scalar("commit", {}));
    }
    spec.hook = shuffling_delay();
    run(name, spec);
    const std::string whole = rank() == 0 ? store::read_file(journal(name)) : "";
    const std::string expected = rank() == 0 ? canonical(name) : "";
    RandomStream random(21);
    for (int cut = 0; cut < 4; ++cut) {
      const std::string cut_name = name + std::to_string(cut);
      if (rank() == 0) {
        std::filesystem::create_directories(root() / cut_name);
        // Any byte after the header: mostly a torn line.
        const std::size_t header = whole.find('\n') + 1;
        const std::size_t kept = header + random.below(whole.size() - header);
        std::ofstream(journal(cut_name), std::ios::binary) << whole.substr(0, kept);
      }
      comm::wait(*world().barrier());
      const RigRun rest = run(cut_name, spec, true);
      if (rank() != 0) continue;
      EXPECT_EQ(canonical(cut_name), expected) << cut_name;
      EXPECT_EQ(rest.observer.replayed + rest.observer.positions.size(), rest.result.committed.size());
      EXPECT_GT(rest.observer.positions.size(), 0U);
    }
  }
}

TEST_P(RunTest, CommitsAResultWhenItIsThereWhateverOtherSlotsDo) {
  RunSpec spec = evolution_spec();
  spec.search = testing::config_from_yaml("{algorithm: exhaustive, trials: 2}");
  spec.final_epochs.reset();
  spec.options.slots = 2;
  const std::filesystem::path file = journal("prompt");
  bool committed_meanwhile = true;
  spec.hook = [&](const trial::Trial& trial) {
    if (trial.number == 0) return;
    const auto is_committed = [&] {
      return std::filesystem::exists(file) && !store::read_journal(file, test_space()).entries.empty();
    };
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!is_committed() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    committed_meanwhile = is_committed();
  };
  run("prompt", spec);
  EXPECT_TRUE(committed_meanwhile) << "trial 0 waits for trial 1";
}

TEST_P(RunTest, RecordsFailuresAsValuesAndGoesOn) {
  RunSpec spec = evolution_spec();
  spec.search = testing::config_from_yaml("algorithm: exhaustive");
  spec.hook = [](const trial::Trial& trial) {
    if (trial.number % 4 == 1) throw std::runtime_error("no kernel for this shape\nand a second line");
    if (trial.number % 8 == 2) throw std::bad_alloc();
  };
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const RigRun all = run("failures", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("failures"), expected);
  for (const auto& committed : all.result.committed) {
    const auto* failure = std::get_if<Failure>(&committed.outcome);
    const auto number = committed.trial.number;
    EXPECT_EQ(failure != nullptr, number % 4 == 1 || number % 8 == 2) << number;
    if (failure == nullptr) continue;
    const bool memory = number % 8 == 2;
    EXPECT_EQ(failure->kind, memory ? FailureKind::kOutOfMemory : FailureKind::kException);
    EXPECT_EQ(failure->reason, memory ? "out of memory" : "no kernel for this shape");
    EXPECT_FALSE(!committed.trial.is_final() && all.result.on_front[committed.position]);
  }
}

TEST_P(RunTest, TriesATrialWhoseFaultPassesOnceMore) {
  RunSpec spec = evolution_spec();
  spec.search = testing::config_from_yaml("{algorithm: exhaustive, trials: 6}");
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const std::string mark = journal("passing").parent_path().string() + ".met";
  spec.hook = [mark](const trial::Trial& trial) {
    const std::string met = mark + to_text(trial.name());
    if (trial.number % 3 != 1 || std::filesystem::exists(met)) return;
    std::ofstream(met) << "met";
    if (trial.number == 1) throw std::bad_alloc();
    throw FaultError("cannot read the data");
  };
  run("passing", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("passing"), expected);
}

/// The positions of the trials that have other results.
std::vector<std::size_t> differing_trials(const RigRun& one, const RigRun& other) {
  const auto value_of = [](const trial::CommittedTrial& committed) {
    const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
    return measured == nullptr ? std::nan("") : measured->values.at(1);
  };
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < one.result.committed.size(); ++i) {
    if (value_of(one.result.committed[i]) != value_of(other.result.committed[i])) differing.push_back(i);
  }
  return differing;
}

TEST_P(RunTest, TriesATrialThatTakesTooLongOnAnotherRankAndFailsItTheSecondTime) {
  RunSpec spec = evolution_spec();
  spec.search = testing::config_from_yaml("{algorithm: exhaustive, trials: 6}");
  spec.final_epochs.reset();
  const RigRun undisturbed = run("undisturbed", spec);
  bool is_met = false;
  for (const double timeout_s : {0.2, 2.0, 20.0}) {  // others may wait for a core for as long
    const std::string name = "too_long_" + std::to_string(timeout_s);
    spec.options.trial_timeout_s = timeout_s;
    spec.held = [mark = root() / (name + ".held")](const trial::Trial& trial) {
      if (trial.number != 2) return trial.number == 4;
      const bool first = !std::filesystem::exists(mark);
      std::ofstream(mark) << "held";
      return first;
    };
    const RigRun all = run(name, spec);
    const StepCounts steps = all_steps(all);
    const auto trained = all.steps.contains("2") ? std::int64_t{1} : std::int64_t{0};
    const std::vector<std::int64_t> ranks = comm::gather(world(), trained);
    if (rank() == 0) {
      const bool resumes = steps.contains("2") && steps.at("2") == spec.steps &&
                           std::accumulate(ranks.begin(), ranks.end(), 0) == std::min(size(), 2);
      is_met = resumes && differing_trials(all, undisturbed) == std::vector<std::size_t>{4};
      EXPECT_THAT(all.result.committed.at(4).outcome,
                  ::testing::VariantWith<Failure>(::testing::AllOf(
                      ::testing::Field(&Failure::kind, FailureKind::kException),
                      ::testing::Field(&Failure::reason, "took longer than run.trial_timeout"))));
      EXPECT_THAT(checkpoints(name), ::testing::IsEmpty());
    }
    if (on_all_ranks(rank() != 0 || is_met)) break;
  }
  EXPECT_TRUE(rank() != 0 || is_met);
}

TEST_P(RunTest, TrainsTheFrontFullyAfterTheSearch) {
  const RigRun all = run("final", evolution_spec());
  if (rank() != 0) return;
  std::vector<trial::TrialNumber> front;
  std::vector<trial::TrialNumber> trained;
  for (const auto& committed : all.result.committed) {
    const trial::Trial& trial = committed.trial;
    if (!trial.is_final()) {
      EXPECT_TRUE(trained.empty()) << "a search trial after the first of the full training";
      EXPECT_EQ(trial.budget().epochs, 0.25);
      if (all.result.on_front[committed.position]) front.push_back(trial.number);
      continue;
    }
    EXPECT_EQ(trial.budget().epochs, 2);
    EXPECT_EQ(trial.proposal.origin, trial::Origin::kFront);
    EXPECT_TRUE(all.result.on_front[committed.position]);
    EXPECT_TRUE(trial.proposal.parents.empty());
    trained.push_back(trial.number);
    EXPECT_EQ(trial.architecture().id, all.result.committed[trained.back()].trial.architecture().id);
  }
  EXPECT_FALSE(front.empty());
  EXPECT_EQ(trained, front);
}

TEST_P(RunTest, FindsTheFrontThatASlowCheckFinds) {
  const RigRun all = run("front", evolution_spec());
  std::vector<std::vector<double>> points;
  for (const auto& committed : all.result.committed) {
    if (!committed.trial.is_final()) points.push_back(*test_objectives().minimized(committed));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool dominated =
        std::ranges::any_of(points, [&](const auto& other) { return search::dominates(other, points[i]); });
    EXPECT_EQ(all.result.on_front[i], !dominated);
  }
}

TEST_P(RunTest, KeepsTheWeightsThatWereAskedFor) {
  for (const KeepWeights keep : {KeepWeights::kNone, KeepWeights::kFront, KeepWeights::kAll}) {
    RunSpec spec = evolution_spec();
    spec.options.keep_weights = keep;
    const std::string name = "keep_" + std::to_string(static_cast<int>(keep));
    const RigRun all = run(name, spec);
    if (rank() != 0) continue;
    std::map<std::string, float> expected;  // name to trial
    for (const auto& committed : all.result.committed) {
      const trial::Trial& trial = committed.trial;
      const bool wanted = keep == KeepWeights::kAll ||
                          (keep == KeepWeights::kFront && all.result.on_front[committed.position]);
      if (wanted) expected[to_text(trial.name())] = static_cast<float>(trial.number);
    }
    std::map<std::string, float> found;
    for (const std::string& name_of_file : weight_ids(root() / name)) {
      const auto file = root() / name / "weights" / (name_of_file + ".h5");
      found[name_of_file] = store::read_weights(file).tensors.at(0).values.at(0);
    }
    EXPECT_EQ(found, expected);
  }
}

TEST_P(RunTest, InheritsTheSameOnAnyNumberOfRanks) {
  RunSpec spec = evolution_spec();
  spec.search.set("iterations", ConfigNode::make_integer(4));
  spec.options.inherit = true;
  spec.options.window = 4;
  spec.options.keep_weights = KeepWeights::kAll;
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.options.slots = 2;
  spec.hook = shuffling_delay();
  const RigRun all = run("inherit", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("inherit"), expected);
  std::size_t heirs = 0;
  for (const auto& committed : all.result.committed) {
    const trial::Trial& trial = committed.trial;
    if (trial.is_final()) continue;
    const store::RunPaths paths{root() / "inherit"};
    const auto file = store::read_weights(paths.weights(trial.name()));
    EXPECT_EQ(file.provenance, store::provenance(trial, {"0", "0"}));
    if (trial.inherits()) ++heirs;
  }
  EXPECT_GT(heirs, 0U);
}

TEST_P(RunTest, UsesLittleOfACoreWhileItWaits) {
  RunSpec spec = evolution_spec();
  spec.search = testing::config_from_yaml("{algorithm: exhaustive, trials: 1}");
  spec.final_epochs.reset();
  spec.hook = [](const trial::Trial&) { std::this_thread::sleep_for(std::chrono::seconds(2)); };
  bool uses_little = false;
  for (int round = 0; round < 5 && !uses_little; ++round) {  // a virtual machine may count what others use
    const double before = testing::process_cpu_seconds();
    run("waiting_" + std::to_string(round), spec);
    uses_little = on_all_ranks(testing::process_cpu_seconds() - before < 0.02 * 2);
  }
  EXPECT_TRUE(uses_little);
}

INSTANTIATE_TEST_SUITE_P(Ways, RunTest, both_ways(), name_of_way);

}  // namespace
}  // namespace skyline::engine

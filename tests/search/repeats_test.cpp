#include "skyline/core/random.hpp"

#include "search/pareto/repeated_front.hpp"
#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_objectives;
using testing::archai_space;
using testing::closed_formula;
using testing::config_from_yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kToTheEnd;
using testing::objective_set;
using testing::user_error_of;
using testing::WindowedRun;
using trial::CommittedTrial;
using trial::SharedTrial;
using trial::TrialNumber;

/// A number in [-1, 1) for each training.
double luck(const trial::Trial& trial) {
  const auto id = static_cast<std::uint64_t>(trial.architecture().id);
  return 2 * RandomStream(derive_seed(id, "luck", {trial.proposal.repeat})).uniform() - 1;
}

trial::Outcome noisy(const trial::Trial& trial) {
  auto measured = std::get<trial::Measurements>(closed_formula(trial));
  measured.values[0] += 0.1 * luck(trial);
  return measured;
}

/// Every third repeat fails.
trial::Outcome failing_repeats(const trial::Trial& trial) {
  if (trial.proposal.repeat > 0 && luck(trial) > 0.3)
    return trial::Failure{trial::FailureKind::kDiverged, "loss is nan"};
  return noisy(trial);
}

const std::map<std::string, std::string> kSections{
    {"random", "trials: 60"},
    {"nsga2", "trials: 60\npopulation: 8"},
    {"local_search", "trials: 60\ninitial: 4"},
    {"regularized_evolution", "trials: 60\ninitial: 6"},
    {"evolution_pareto", "iterations: 4\ninitial: 10\nmax_unseen: 6"},
    {"mo_bananas", "trials: 40\ninitial: 8\nbatch: 4"},
    {"skyline", "trials: 40"}};

std::unique_ptr<Searcher> searcher_of(const std::string& name, const std::string& repeats) {
  const ConfigNode section = config_from_yaml(
      "algorithm: " + name + "\n" + kSections.at(name) + "\n" + repeats, "run.yaml", "search");
  return make_searcher(section, archai_space(), archai_objectives(), 1);
}

constexpr std::size_t kWindow = 4;

/// The trials of each architecture, in the order of the first ones.
std::vector<std::vector<SharedTrial>> by_architecture(const std::vector<CommittedTrial>& committed) {
  std::map<space::ArchId, std::size_t> places;
  std::vector<std::vector<SharedTrial>> groups;
  for (const CommittedTrial& trial : committed) {
    const auto [place, is_new] = places.try_emplace(trial.trial.architecture().id, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(std::make_shared<const CommittedTrial>(trial));
  }
  return groups;
}

/// The slow reference: each mean against all others.
std::set<TrialNumber> front_of_means(const std::vector<std::vector<SharedTrial>>& groups) {
  const objective::ObjectiveSet objectives = archai_objectives();
  std::map<TrialNumber, std::vector<double>> means;
  for (const auto& group : groups) {
    if (auto values = objectives.minimized(*mean_of(group)))
      means.emplace(group.front()->trial.number, *std::move(values));
  }
  std::set<TrialNumber> front;
  for (const auto& [number, values] : means) {
    bool is_beaten = false;
    for (const auto& [other, others] : means) is_beaten = is_beaten || dominates(others, values);
    if (!is_beaten) front.insert(number);
  }
  return front;
}

TEST(Repeats, GiveEveryCandidateForTheFrontAllItsTrainingsAndComparesMeans) {
  for (const auto& [name, section] : kSections) {
    SCOPED_TRACE(name);
    WindowedRun run(searcher_of(name, "repeats: 3"), kWindow, noisy);
    const std::vector<CommittedTrial>& committed = run.run();
    EXPECT_LE(committed.size(), run.searcher().expected_trials());
    if (name != "evolution_pareto") {
      EXPECT_EQ(committed.size(), name == "skyline" || name == "mo_bananas" ? 40U : 60U);
    }
    RepeatedFront front(3, 3);
    std::vector<CommittedTrial> counted;
    for (const CommittedTrial& trial : committed) {
      if (front.tell(archai_objectives(), std::make_shared<const CommittedTrial>(trial)).counts)
        counted.push_back(trial);
    }
    const auto groups = by_architecture(counted);
    EXPECT_LT(groups.size(), committed.size());
    const std::set<TrialNumber> expected = front_of_means(groups);
    EXPECT_EQ(std::set<TrialNumber>(front.front().keys().begin(), front.front().keys().end()), expected);
    for (const auto& group : groups) {
      for (std::size_t i = 0; i < group.size(); ++i) EXPECT_EQ(group[i]->trial.proposal.repeat, i);
      EXPECT_LE(group.size(), 3U);
      const TrialNumber number = group.front()->trial.number;
      const bool is_decided = expected.contains(number) && !front.open().contains(number);
      EXPECT_TRUE(!is_decided || group.size() == 3);
    }
    EXPECT_TRUE(name != "evolution_pareto" || front.open().empty()) << "it has no limit of trials";
  }
}

TEST(Repeats, ThatFailAreNotTriedAgainAndAreInNoMean) {
  WindowedRun run(searcher_of("nsga2", "repeats: 3"), kWindow, failing_repeats);
  const auto groups = by_architecture(run.run());
  std::size_t failed = 0;
  for (const auto& group : groups) {
    EXPECT_LE(group.size(), 3U);
    double sum = 0;
    double count = 0;
    for (const SharedTrial& repeat : group) {
      const auto* measured = std::get_if<trial::Measurements>(&repeat->outcome);
      if (measured != nullptr) sum += measured->values[0];
      measured != nullptr ? ++count : static_cast<double>(++failed);
    }
    EXPECT_NEAR(std::get<trial::Measurements>(mean_of(group)->outcome).values[0], sum / count, 1e-12);
  }
  EXPECT_GT(failed, 0U);
}

TEST(Repeats, AreTakenFromAnEarlierJobWithoutThinking) {
  for (const std::string name : {"skyline", "mo_bananas"}) {
    WindowedRun run(searcher_of(name, "repeats: 3"), kWindow, noisy);
    const std::vector<CommittedTrial>& committed = run.run();
    WindowedRun replayed(searcher_of(name, "repeats: 3"), kWindow, noisy);
    EXPECT_EQ(replayed.run(kToTheEnd, committed).size(), committed.size()) << name;
    EXPECT_EQ(replayed.accepted(), committed.size()) << name;
    EXPECT_TRUE(replayed.searcher().finished());
  }
}

TEST(Repeats, OfALongerSearchBeginWithThoseOfTheShorterOne) {
  for (const std::string name : {"nsga2", "skyline"}) {
    const auto shorter = WindowedRun(searcher_of(name, "repeats: 3"), kWindow, noisy).run();
    const ConfigNode section = config_from_yaml(
        "algorithm: " + name + "\n" + (name == "nsga2" ? "population: 8\n" : "") + "trials: 64\nrepeats: 3",
        "run.yaml", "search");
    const auto longer =
        WindowedRun(make_searcher(section, archai_space(), archai_objectives(), 1), kWindow, noisy).run();
    ASSERT_LT(shorter.size(), longer.size());
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      EXPECT_EQ(shorter[i].trial.architecture().id, longer[i].trial.architecture().id);
      EXPECT_EQ(shorter[i].trial.proposal.repeat, longer[i].trial.proposal.repeat);
    }
  }
}

TEST(Repeats, LeaveTheThreadsToTheAlgorithm) {
  auto searcher = searcher_of("mo_bananas", "repeats: 2");
  std::atomic<int> asked = 0;
  searcher->think_on([&asked] {
    ++asked;
    return std::size_t{2};
  });
  WindowedRun(std::move(searcher), kWindow, noisy).run();
  EXPECT_GT(asked, 0);
}

TEST(Repeats, AreRefusedWhereTheyMakeNoSense) {
  const auto refused = [](const std::string& text) {
    return user_error_of([&] {
      const ConfigNode section = config_from_yaml(text, "run.yaml", "search");
      (void)algorithm_of(section).keys->complete(section);
      check_repeats(section, algorithm_of(section));
    });
  };
  for (const std::string name : {"exhaustive", "mo_asha", "successive_halving"}) {
    EXPECT_EQ(refused("algorithm: " + name + "\nrepeats: 3"),
              "run.yaml:2:10: search.repeats: not with `algorithm: " + name + "`: expected 1");
  }
  for (const std::string repeats : {"0", "-1", "101", "2.5", "x"}) {
    EXPECT_EQ(refused("algorithm: random\nrepeats: " + repeats),
              "run.yaml:2:10: search.repeats: expected a whole number from 1 to 100, got " + repeats);
  }
  EXPECT_EQ(refused("algorithm: skyline\nrepeats: 3\nbudgets: [0.5, 1]"),
            "run.yaml:2:10: search.repeats: not with `search.budgets`");
  const ConfigNode written = config_from_yaml("algorithm: skyline\nrepeats: 3\nbudgets: none");
  EXPECT_NO_THROW(check_repeats(written, algorithm_of(written)));
  const ConfigNode complete = algorithm_of(written).keys->complete(written);
  EXPECT_NO_THROW(check_repeats(complete, algorithm_of(written)));
}

/// A trial of architecture `id` with this accuracy and this latency.
SharedTrial measured(TrialNumber number, std::uint64_t id, std::uint32_t repeat, double accuracy,
                     double latency) {
  CommittedTrial committed;
  auto architecture = std::make_shared<space::Architecture>();
  architecture->id = static_cast<space::ArchId>(id);
  committed.trial.number = number;
  committed.trial.proposal.architecture = architecture;
  committed.trial.proposal.repeat = repeat;
  committed.outcome = trial::Measurements{{accuracy, latency}};
  return std::make_shared<const CommittedTrial>(committed);
}

TEST(RepeatedFront, BringsBackWhatOnlyALuckyValueHadBeaten) {
  const auto objectives = objective_set("[{maximize: accuracy}, {minimize: latency}]");
  RepeatedFront front(2, 2);
  front.tell(objectives, measured(0, 7, 0, 0.9, 1));
  EXPECT_THAT(front.tell(objectives, measured(1, 8, 0, 0.85, 1)).left, IsEmpty()) << "0 may have been lucky";
  EXPECT_THAT(front.front().keys(), ElementsAre(0));
  const RepeatedFront::Change change = front.tell(objectives, measured(2, 7, 1, 0.7, 1));
  EXPECT_THAT(front.front().keys(), ElementsAre(1));
  EXPECT_THAT(change.left, ElementsAre(2)) << "a repeat has no weights of its own to keep";
  EXPECT_THAT(front.tell(objectives, measured(3, 8, 1, 0.85, 1)).left, ElementsAre(3, 0));
  EXPECT_THAT(front.open(), IsEmpty());
  EXPECT_THAT(front.front().keys(), ElementsAre(1));
  EXPECT_THAT(front.tell(objectives, measured(4, 9, 0, 0.8, 1)).left, ElementsAre(4))
      << "something that has been decided beats it";
}

}  // namespace
}  // namespace skyline::search

#include "skyline/trial/trial.hpp"

#include "support/user_error_of.hpp"
#include "trial/refit.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace skyline::trial {
namespace {

using testing::user_error_of;

TEST(TrialTexts, ReadBackToTheSameValue) {
  for (const Phase phase : {Phase::kSearch, Phase::kFinal}) EXPECT_EQ(parse_phase(to_text(phase)), phase);
  for (const FailureKind kind :
       {FailureKind::kDiverged, FailureKind::kOutOfMemory, FailureKind::kException, FailureKind::kStopped}) {
    EXPECT_EQ(parse_failure_kind(to_text(kind)), kind);
  }
}

/// With a value in every field.
Trial full_trial(const Start& start) {
  Trial trial{.number = 7, .proposal = {}, .seed = 0xfedcba9876543210u, .members = 4};
  trial.proposal.origin = Origin::kCrossover;
  trial.proposal.iteration = 3;
  trial.proposal.parents = {2, 5};
  trial.proposal.start = start;
  trial.proposal.budget.epochs = 0.1;
  trial.proposal.horizon.epochs = 0.9;
  trial.proposal.repeat = 2;
  return trial;
}

std::vector<Cell> cells_of(const Trial& trial) {
  std::vector<Cell> cells;
  add_fields(cells, trial);
  return cells;
}

CellValue value_of(const std::vector<Cell>& cells, std::string_view name) {
  return std::ranges::find(cells, name, &Cell::name)->value;
}

TEST(TrialFields, AreCellsOfTheSameNamesAndTypesForEveryTrial) {
  const std::vector<Cell> fresh = cells_of(Trial{});
  const std::vector<Cell> heir =
      cells_of(full_trial(Inherit{.from = 5, .architecture = nullptr, .share = 0.75}));
  ASSERT_EQ(fresh.size(), heir.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    EXPECT_EQ(fresh[i].name, heir[i].name);
    EXPECT_EQ(fresh[i].none.index(), heir[i].none.index()) << fresh[i].name;
    const bool is_null = heir[i].value == CellValue(space::Null());
    EXPECT_TRUE(is_null || heir[i].value.index() == heir[i].none.index()) << heir[i].name;
  }
  EXPECT_EQ(value_of(heir, "parents"), CellValue("2 5"));
  EXPECT_EQ(value_of(heir, "inherited_from"), CellValue(std::int64_t{5}));
  EXPECT_EQ(value_of(heir, "inherited_share"), CellValue(0.75));
  EXPECT_EQ(value_of(heir, "continued_from"), CellValue(space::Null()));
  EXPECT_EQ(value_of(heir, "seed"), CellValue(std::uint64_t{0xfedcba9876543210u}));
}

TEST(TrialFields, AreTheSameWhereverTheParentsWeightsAre) {
  const Trial here = full_trial(Inherit{.from = 5, .architecture = nullptr, .share = 0.5, .holder = 1});
  const Trial there = full_trial(Inherit{.from = 5, .architecture = nullptr, .share = 0.5, .holder = 3});
  EXPECT_FALSE(first_difference(here, there));
}

TEST(TrialFields, AreTheSameWhetherAJournalNamesTheRepetitionOrItsSeedAlone) {
  const Trial named = full_trial(Fresh{});
  Trial unnamed = named;
  unnamed.proposal.repeat = 0;
  EXPECT_FALSE(first_difference(named, unnamed));
}

TEST(TrialFields, OfOneThatContinuesAnHeirNameBothTrials) {
  const std::vector<Cell> cells =
      cells_of(full_trial(Continue{5, 0.1, Inherit{.from = 3, .architecture = nullptr, .share = 0.5}}));
  EXPECT_EQ(value_of(cells, "continued_from"), CellValue(std::int64_t{5}));
  EXPECT_EQ(value_of(cells, "inherited_from"), CellValue(std::int64_t{3}));
}

TEST(Trial, HasItsBudgetAsHorizonUnlessThatIsLarger) {
  Trial trial;
  trial.proposal.budget.epochs = 2;
  EXPECT_EQ(trial.horizon().epochs, 2);
  EXPECT_FALSE(trial.may_be_continued());
  trial.proposal.horizon.epochs = 8;
  EXPECT_EQ(trial.horizon().epochs, 8);
  EXPECT_TRUE(trial.may_be_continued());
  trial.proposal.trains = 0;
  EXPECT_FALSE(trial.may_be_continued()) << "a full training is the last of its architecture";
}

/// "name: left, right" of the first difference between a full trial and the one that `change` makes of it.
std::string difference(const std::function<void(Trial&)>& change) {
  const Trial left = full_trial(Inherit{.from = 5, .architecture = nullptr, .share = 0.5});
  Trial right = left;
  change(right);
  const FieldDifference found = first_difference(left, right).value();
  return found.name + ": " + found.left + ", " + found.right;
}

TEST(TrialFields, AreNamedWithBothValuesWhereTwoTrialsDiffer) {
  const Inherit closer{.from = 5, .architecture = nullptr, .share = 0.25};
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.origin = Origin::kRandom; }),
            "origin: crossover, random");
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.iteration = 4; }), "iteration: 3, 4");
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.parents = {}; }), "parents: 2 5, none");
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.start = Fresh{}; }),
            "start: from the weights of trial 5 (share 0.5), fresh");
  EXPECT_EQ(difference([&](Trial& trial) { trial.proposal.start = closer; }),
            "start: from the weights of trial 5 (share 0.5), from the weights of trial 5 (share 0.25)");
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.start = Continue{5}; }),
            "start: from the weights of trial 5 (share 0.5), where trial 5 ended");
  EXPECT_EQ(difference([](Trial& trial) {
              trial.proposal.start = Continue{5, 0.1, Inherit{3, nullptr, 0.5}};
            }),
            "start: from the weights of trial 5 (share 0.5), where trial 5 ended, begun from the weights of "
            "trial 3 (share 0.5)");
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.budget.epochs = 2; }), "epochs: 0.1, 2.0");
  EXPECT_EQ(difference([](Trial& trial) { trial.proposal.horizon.epochs = 2; }), "horizon: 0.9, 2.0");
  EXPECT_EQ(difference([](Trial& trial) { trial.members = 1; }), "members: 4, 1");
  EXPECT_EQ(difference([](Trial& trial) { trial.cost = 7; }), "cost: 0, 7");
  EXPECT_EQ(difference([](Trial& trial) { trial.seed = 3; }), "seed: 18364758544493064720, 3");
}

TEST(TrialTexts, NameATrialAndItsFullTrainingsApart) {
  EXPECT_EQ(to_text(TrialName{17}), "17");
  EXPECT_EQ(to_text(TrialName{17, true}), "17.final");
  EXPECT_EQ(to_text(TrialName{17, true, 2}), "17.final.2");
  EXPECT_EQ(to_text(TrialName{17, true, kRefit}), "17.refit");
  const std::hash<TrialName> hash;
  EXPECT_NE(hash({17, true}), hash({17, true, 2}));
  EXPECT_LT((TrialName{17, true}), (TrialName{17, true, 2}));
}

TEST(TrialTexts, AreThoseOfTheJournal) {
  EXPECT_EQ(to_text(Phase::kSearch), "search");
  EXPECT_EQ(to_text(Phase::kFinal), "final");
  EXPECT_EQ(Origin::kInitial.text(), "initial");
  EXPECT_EQ(Origin::kMutation.text(), "mutation");
  EXPECT_EQ(Origin::kCrossover.text(), "crossover");
  EXPECT_EQ(Origin::kRandom.text(), "random");
  EXPECT_EQ(Origin::kEnumerated.text(), "enumerated");
  EXPECT_EQ(Origin::kFront.text(), "front");
  EXPECT_EQ(to_text(FailureKind::kDiverged), "diverged");
  EXPECT_EQ(to_text(FailureKind::kOutOfMemory), "out_of_memory");
  EXPECT_EQ(to_text(FailureKind::kException), "exception");
  EXPECT_EQ(to_text(FailureKind::kStopped), "stopped");
}

TEST(TrialTexts, OfOtherWordsAreRefusedWithASuggestion) {
  EXPECT_EQ(user_error_of([] { parse_phase("serach"); }), "unknown phase `serach`, did you mean `search`?");
  EXPECT_EQ(user_error_of([] { parse_failure_kind("xyz"); }),
            "unknown kind of failure `xyz`, known here: diverged, out_of_memory, exception, stopped, "
            "program, storage, filled_storage");
}

TEST(Origin, IsAnyShortWordOfSmallLettersAndFigures) {
  const std::string longest(Origin::kMostCharacters, 'z');
  for (const std::string& word : {std::string("q"), std::string("local_search-2"), longest}) {
    EXPECT_EQ(Origin(word).text(), word);
  }
  EXPECT_NE(Origin("surrogate"), Origin("surrogate2"));
  for (const std::string& word :
       {std::string(), std::string("Surrogate"), std::string("a b"), longest + "z"}) {
    EXPECT_EQ(user_error_of([&] { Origin{word}; }),
              "origin: expected 1 to 24 of the characters a-z, 0-9, _ and -, got `" + word + "`");
  }
}

}  // namespace
}  // namespace skyline::trial

#include "skyline/core/error.hpp"
#include "skyline/search/tuner.hpp"

#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using ::testing::AllOf;
using testing::archai_objectives;
using testing::archai_space;
using testing::config_from_yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::user_error_of;
using testing::WindowedRun;

/// A choice by a question: the genotypes with these numbers, none for the end.
using Choice = std::function<std::vector<std::int64_t>(const TunerQuestion& question)>;

/// Notes what it is sent, and answers each question at the second look.
class NotedTuner final : public Tuner {
 public:
  NotedTuner(space::SearchSpace space, Choice choice, std::vector<std::string>& notes)
      : space_(std::move(space)), choice_(std::move(choice)), notes_(notes) {}

  void ask(const TunerQuestion& question) override {
    notes_.push_back("ask " + std::to_string(question.first));
    question_ = question;
  }
  void repeat(const TunerQuestion& question, const std::vector<space::Genotype>& recorded) override {
    EXPECT_EQ(recorded.size(), question.count);
    notes_.push_back("ask " + std::to_string(question.first));
  }
  void tell(std::optional<trial::TrialNumber> number, const trial::CommittedTrial& /*result*/) override {
    notes_.push_back(number ? "tell " + std::to_string(*number) : "known");
  }
  std::optional<TunerAnswer> answer() override {
    has_thought_ = !has_thought_;
    if (has_thought_) return std::nullopt;
    TunerAnswer answer;
    for (const std::int64_t number : choice_(question_))
      answer.genotypes.push_back(space_.genotype_at(number));
    answer.is_done = answer.genotypes.empty();
    return answer;
  }
  void end() override {
    if (!std::exchange(has_ended_, true)) notes_.emplace_back("end");
  }

 private:
  space::SearchSpace space_;
  Choice choice_;
  std::vector<std::string>& notes_;
  TunerQuestion question_;
  bool has_thought_ = false;
  bool has_ended_ = false;
};

struct Program {
  Choice choice;
  std::vector<std::string> notes = {};
  std::vector<trial::CommittedTrial> known = {};

  std::unique_ptr<Searcher> searcher(std::size_t trials) {
    const std::string section = "{algorithm: program, run: [tuner], trials: " + std::to_string(trials) + "}";
    const auto start = [this](const TunerProgram& program, const TunerTask& task) {
      EXPECT_THAT(program.run, ElementsAre("tuner"));
      return std::make_unique<NotedTuner>(task.space, choice, notes);
    };
    return make_searcher(config_from_yaml(section, "run.yaml", "search"), archai_space(), archai_objectives(),
                         1, {}, known, {start, nullptr});
  }
};

std::vector<std::int64_t> one_after_the_other(const TunerQuestion& question) {
  return {static_cast<std::int64_t>(question.first)};
}

/// Returns the numbers of all genotypes but the first ones, as many as there are trials: so at first all.
std::vector<std::int64_t> all_from_the_trials_number(const TunerQuestion& question) {
  std::vector<std::int64_t> numbers;
  for (auto number = static_cast<std::int64_t>(question.first); number < archai_space().genotype_count();
       ++number)
    numbers.push_back(number);
  return numbers;
}

TEST(ProgramSearch, AsksForOneTrialAfterTheOtherAndTellsEachResult) {
  Program program{one_after_the_other};
  WindowedRun run(program.searcher(4), 2);
  EXPECT_EQ(run.run().size(), 4U);
  EXPECT_THAT(program.notes,
              ElementsAre("ask 0", "ask 1", "tell 0", "ask 2", "tell 1", "ask 3", "tell 2", "tell 3", "end"));
  EXPECT_EQ(run.searcher().finish_reason(), "4 trials done");
}

TEST(ProgramSearch, SendsTheSameQuestionsAndResultsAfterAResumeWhateverWasRecorded) {
  Program whole{one_after_the_other};
  const std::vector<trial::CommittedTrial> trials = WindowedRun(whole.searcher(6), 3).run();
  for (std::size_t recorded = 1; recorded <= trials.size(); ++recorded) {
    Program resumed{one_after_the_other};
    WindowedRun run(resumed.searcher(6), 3);
    run.run(testing::kToTheEnd, {trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(recorded)});
    EXPECT_EQ(run.accepted(), recorded);
    EXPECT_EQ(resumed.notes, whole.notes);
  }
}

TEST(ProgramSearch, GivesEachTrialASeedOfItsOwnThatEveryGeneratorTakes) {
  std::vector<std::uint64_t> seeds;
  Program program{[&](const TunerQuestion& question) {
    seeds.push_back(question.seed);
    return one_after_the_other(question);
  }};
  (void)WindowedRun(program.searcher(20), 1).run();
  std::ranges::sort(seeds);
  EXPECT_EQ(std::ranges::unique(seeds).begin(), seeds.end());
  EXPECT_LT(seeds.back(), std::uint64_t{1} << 31U);
}

TEST(ProgramSearch, EndsWhereTheProgramHasNoMore) {
  Program program{[](const TunerQuestion& question) {
    return question.first < 3 ? one_after_the_other(question) : std::vector<std::int64_t>();
  }};
  WindowedRun run(program.searcher(50), 1);
  EXPECT_EQ(run.run().size(), 3U);
  EXPECT_TRUE(run.searcher().finished());
  EXPECT_EQ(run.searcher().expected_trials(), 3U);
  EXPECT_EQ(run.searcher().finish_reason(), "the program of search.run has no more");
}

TEST(ProgramSearch, RefusesAnAnswerOfWhichNothingCanBeATrial) {
  const auto refusal_of = [](const Choice& choice) {
    return user_error_of([&] {
      Program program{choice};
      (void)WindowedRun(program.searcher(5), 1).run();
    });
  };
  const std::int64_t last = archai_space().genotype_count() - 1;
  const auto same = [](const TunerQuestion& question) {
    return std::vector<std::int64_t>{question.first < 2 ? static_cast<std::int64_t>(question.first) : 1};
  };
  EXPECT_THAT(refusal_of(same), AllOf(HasSubstr("search.run: the proposal for trial 2: "),
                                      HasSubstr(": was proposed before, as trial 1")));
  EXPECT_THAT(refusal_of([&](const TunerQuestion&) { return std::vector{last}; }),
              HasSubstr(": breaks the constraint `"));
  EXPECT_THAT(
      refusal_of([&](const TunerQuestion&) {
        return std::vector{last, last};
      }),
      AllOf(HasSubstr("none of 2 can be, the first of which "), HasSubstr(": breaks the constraint `")));
  EXPECT_THAT(refusal_of([&](const TunerQuestion&) { return std::vector<std::int64_t>(1'001, 0); }),
              HasSubstr("expected at most 1000 proposals, got 1001"));
}

TEST(ProgramSearch, TakesTheFirstOfAnAnswerThatCanBeATrialAndEndsWhenNothingIsLeft) {
  Program program{all_from_the_trials_number};
  WindowedRun run(program.searcher(500), 3);
  const std::vector<trial::CommittedTrial> trials = run.run();
  EXPECT_EQ(trials.size(), 151U);
  EXPECT_EQ(run.searcher().finish_reason(), "all 151 valid architectures were evaluated");
  Program resumed{all_from_the_trials_number};
  WindowedRun again(resumed.searcher(500), 3);
  again.run(testing::kToTheEnd, {trials.begin(), trials.begin() + 70});
  EXPECT_EQ(resumed.notes, program.notes);
}

TEST(ProgramSearch, TellsKnownResultsFirst) {
  Program earlier{one_after_the_other};
  Program program{one_after_the_other};
  program.known = WindowedRun(earlier.searcher(2), 1).run();
  (void)WindowedRun(program.searcher(1), 1).run();
  EXPECT_THAT(program.notes, ElementsAre("known", "known", "ask 0", "tell 0", "end"));
}

TEST(ProgramSearch, DrawsAtRandomWhereNoProgramIsStarted) {
  const ConfigNode section =
      config_from_yaml("{algorithm: program, run: [tuner], trials: 500}", "run.yaml", "search");
  WindowedRun run(make_searcher(section, archai_space(), archai_objectives(), 1), 4);
  EXPECT_EQ(run.run().size(), 151U);
  EXPECT_EQ(run.searcher().finish_reason(), "all 151 valid architectures were evaluated");
}

}  // namespace
}  // namespace skyline::search

#include "report/sample_run.hpp"
#include "report/text/front_table.hpp"
#include "support/yaml_config.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

void add_repeat(testing::SampleRun& run, std::size_t of, std::uint32_t repeat, trial::Outcome outcome) {
  trial::CommittedTrial again = run.committed[of];
  again.trial.proposal.final_repeat = repeat;
  again.outcome = std::move(outcome);
  run.committed.push_back(again);
}

TEST(FrontFootnotes, SayThatNoDeviationIsKnownWithoutRepeats) {
  testing::SampleRun run;
  EXPECT_THAT(front_footnotes(run.inputs()),
              StartsWith("Full trainings were not repeated, so no deviation is known "
                         "(`final.repeats: 3` would tell it).\n"));
  run.committed.resize(4);
  EXPECT_THAT(front_footnotes(run.inputs()), IsEmpty()) << "nothing was trained in full";
}

TEST(FrontFootnotes, SayOfHowManyRepeatsTheValuesAreMeansAndWhichFailed) {
  testing::SampleRun run;
  add_repeat(run, 4, 1, trial::Measurements{{0.97, 4.5, 0.95, 840}});
  EXPECT_EQ(
      front_footnotes(run.inputs()),
      "Full trainings: means of 1 to 2 repeats, with their standard deviation; failed and in no mean: 1 "
      "of trial 0.\n");
  add_repeat(run, 5, 1, trial::Measurements{{0.5, 1, 0.5, 840}});
  EXPECT_EQ(front_footnotes(run.inputs()),
            "Full trainings: means of 2 repeats, with their standard deviation; failed and in no mean: 1 of "
            "trial 0.\n");
}

TEST(FrontFootnotes, SayOfHowManyRepeatsTheSearchsValuesAreMeansAndWhichFailed) {
  testing::SampleRun run;
  run.repeats = 2;
  run.committed.resize(2);
  for (const trial::Outcome& outcome :
       {trial::Outcome(testing::measured(0.9, 4)), trial::Outcome(trial::Failure{})}) {
    trial::CommittedTrial repeat = run.committed[run.committed.size() - 2];
    repeat.trial.number += 2;
    repeat.trial.proposal.repeat = 1;
    repeat.outcome = outcome;
    run.committed.push_back(repeat);
  }
  EXPECT_THAT(front_footnotes(run.inputs()),
              HasSubstr("Trials of the front: means of 2 repeats, with their standard deviation; failed "
                        "and in no mean: 1 of trial 1.\n"));
}

TEST(FrontFootnotes, SayHowFastNetworksAreWhenNothingTrainsAndHowFarTheRoundsDiffer) {
  testing::SampleRun run;
  run.latencies = {{1, {0.5, 0.54}}, {0, {2.1, 2}}};
  EXPECT_THAT(front_footnotes(run.inputs()),
              HasSubstr("\nLatency measured again after the search, one network "
                        "at a time: trials 1 (0.5 ms), 0 (2 ms); 2 rounds "
                        "differ by at most 8 %.\n"));
}

/// The second and third trial succeed like the first, at fewer FLOPs, so that all are on the front.
testing::SampleRun with_three_members(double second, double third) {
  testing::SampleRun run;
  run.committed.resize(4);
  run.committed[2].outcome = trial::Measurements{{second, 1, std::nan(""), 42}};
  run.committed[3].outcome = trial::Measurements{{third, 1, std::nan(""), 42}};
  return run;
}

TEST(FrontFootnotes, SayWhichMembersTheSamplesDoNotTellApart) {
  testing::SampleRun run = with_three_members(0.975, 0.6);
  run.baselines = {{.metric = "validation_accuracy", .samples = 160, .scored = {}, .constant = {}}};
  EXPECT_EQ(
      front_footnotes(run.inputs()),
      "validation_accuracy of 160 samples: trial 1 has 0.9812, 0.9463 to 0.9936 at 95 %; they do not tell it "
      "apart from trial 2 (by 1 sample).\n");
  EXPECT_THAT(indistinguishable_from_best(run.inputs()), ElementsAre(2));
  run.baselines[0].scored = 32;
  EXPECT_THAT(front_footnotes(run.inputs()), StartsWith("validation_accuracy of 32 samples: "));
  run.baselines[0].scored = 100000;
  EXPECT_THAT(front_footnotes(run.inputs()), EndsWith(" at 95 %.\n"));
  EXPECT_THAT(indistinguishable_from_best(run.inputs()), IsEmpty());
  run.baselines.clear();
  EXPECT_THAT(indistinguishable_from_best(run.inputs()), IsEmpty());
}

/// Trials 1 and 2 are the final front, by their errors; 1 is better in two of three replicates.
testing::SampleRun with_replicates(std::vector<double> first, std::vector<double> second) {
  testing::SampleRun run;
  run.committed.resize(4);
  run.committed[2].outcome = trial::Measurements{{0.975, 1, std::nan(""), 42}};
  for (const std::size_t of : {1UL, 2UL}) {
    trial::CommittedTrial full = run.committed[of];
    full.trial.proposal.trains = of;
    full.trial.proposal.budget = {10};
    full.outcome = trial::Measurements{{of == 1 ? 0.9 : 0.8, 1, of == 1 ? 0.5 : 0.25, 840}};
    run.committed.push_back(full);
  }
  run.baselines = {{.metric = "test_accuracy", .samples = {}, .scored = {}, .constant = 0.1}};
  run.replicates[1] = {40, {{"test_accuracy", std::move(first)}}};
  run.replicates[2] = {40, {{"test_accuracy", std::move(second)}}};
  return run;
}

TEST(FrontFootnotes, SayByResamplesWhatTheSamplesDecideOfOtherMetrics) {
  testing::SampleRun run = with_replicates({0.4, 0.5, 0.6}, {0.2, 0.25, 0.7});
  EXPECT_THAT(
      front_footnotes(run.inputs()),
      HasSubstr(
          "\ntest_accuracy of 40 samples: trial 1 has 0.5000, 0.4050 to 0.5950 at 95 %; they do not tell "
          "it apart from trial 2 (by 0.25).\n"));
  run = with_replicates({0.4, 0.5, 0.6}, {0.2, 0.25, 0.3});
  EXPECT_THAT(front_footnotes(run.inputs()), HasSubstr("trial 1 has 0.5000, 0.4050 to 0.5950 at 95 %.\n"));
  run.baselines[0].constant = 0.45;
  EXPECT_THAT(
      front_footnotes(run.inputs()),
      HasSubstr(
          "Warning: trial 1, the best of the front, is no better than a constant answer as far as 40 samples "
          "can tell: test_accuracy 0.5000 beside 0.4500.\n"));
}

TEST(FrontFootnotes, CompareWithAConstantAnswerAndNameAWinnerThatIsNoBetter) {
  testing::SampleRun run = with_three_members(0.975, 0.6);
  run.baselines = {{.metric = "validation_accuracy", .samples = {}, .scored = {}, .constant = 0.4359}};
  const std::string answer =
      "A model that always gives the same answer (the commonest class, or the mean) has validation_accuracy ";
  EXPECT_EQ(front_footnotes(run.inputs()), answer + "0.4359.\n");
  run.baselines[0].constant = 0.98125;
  EXPECT_EQ(front_footnotes(run.inputs()),
            answer +
                "0.9812.\nWarning: trial 1, the best of the front, is no better than a constant answer: "
                "validation_accuracy 0.9812 beside 0.9812.\n");
  run.baselines[0].constant = 0.9;
  EXPECT_EQ(front_footnotes(run.inputs()), answer + "0.9000.\n");
  run.baselines[0].samples = 40;
  EXPECT_THAT(
      front_footnotes(run.inputs()),
      EndsWith("\nWarning: trial 1, the best of the front, is no better than a constant answer as far as "
               "40 samples can tell: validation_accuracy 0.9812 beside 0.9000.\n"));
}

TEST(FrontFootnotes, SayWhatAModelExpectsOfALuckyResult) {
  testing::SampleRun run;
  run.committed.clear();
  for (std::int64_t i = 0; i < 24; ++i) {
    trial::CommittedTrial committed =
        testing::make_trial(run.space, {.number = run.committed.size(), .choices = {0, 0, 0}});
    committed.trial.proposal.architecture = std::make_shared<const space::Architecture>(
        run.space.try_build(run.space.genotype_at(i)).architecture.value());
    committed.outcome = testing::measured(i == 7 ? 0.95 : 0.8 + 0.01 * static_cast<double>(i % 3), 4);
    run.committed.push_back(committed);
  }
  ReportInputs inputs = run.inputs();
  EXPECT_THAT(front_footnotes(inputs), Not(HasSubstr("expects")));
  inputs.may_be_lucky = true;
  EXPECT_THAT(front_footnotes(inputs),
              HasSubstr("validation_accuracy: trial 7 has 0.9500, and a model of all results expects 0.8"));
  EXPECT_THAT(front_footnotes(inputs),
              HasSubstr(": if results differ by their seeds, the best one is mostly a lucky one.\n"));
  run.committed.resize(19);
  ReportInputs few = run.inputs();
  few.may_be_lucky = true;
  EXPECT_THAT(front_footnotes(few), Not(HasSubstr("expects"))) << "too few results";
}

TEST(FrontFootnotes, NameRowsOfOneNetworkThatDifferInTrainingValuesAlone) {
  testing::SampleRun run = with_three_members(0.975, 0.6);
  const ConfigNode root = testing::config_from_yaml(
      "space:\n"
      "  parameters: {width: {choice: [16, 32]}, rate: {choice: [0.1, 0.2, 0.3]}, depth: {choice: [1, 2]}}\n"
      "  network:\n"
      "    - repeat: $depth\n"
      "      body: [conv2d: {channels: $width, kernel: 1, padding: same}]\n"
      "    - global_average_pool\n"
      "    - linear: {features: $classes}\n"
      "training: {rate: $rate}\n");
  run.space = space::SearchSpace::parse(root.at("space"), {{1, 8, 8}, 10}, {root.at("training").at("rate")});
  const std::vector<space::Genotype> genotypes = {{{0, 0, 0}}, {{1, 0, 0}}, {{1, 1, 0}}, {{0, 2, 0}}};
  for (std::size_t i = 0; i < genotypes.size(); ++i) {
    auto architecture = run.space.build(genotypes[i]);
    architecture.cost = run.committed[i].trial.architecture().cost;
    run.committed[i].trial.proposal.architecture =
        std::make_shared<const space::Architecture>(std::move(architecture));
  }
  EXPECT_EQ(front_footnotes(run.inputs()),
            "The same network with other training values: trials 1 = 2, 3 = 0.\n");
}

}  // namespace
}  // namespace skyline::report

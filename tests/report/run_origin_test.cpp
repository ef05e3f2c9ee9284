#include "core/config/config_text.hpp"
#include "report/text/run_account.hpp"

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

run::OpenedRun opened_run(const std::string& folder, const std::string& config) {
  run::OpenedRun opened;
  opened.paths.root = folder;
  opened.config = load_yaml_text(config, "config.yaml");
  opened.header.skyline_version = "0.0.9";
  return opened;
}

TEST(RunOrigin, NamesEachProgramAndProcessorOfTheJobsOnce) {
  run::OpenedRun opened = opened_run("runs/a", "search: {algorithm: random}");
  EXPECT_EQ(programs_text(opened), "0.0.9") << "of a run whose jobs have recorded nothing";
  EXPECT_EQ(processors_text(opened.account), "");
  opened.account.slots = {{.job = 1, .rank = 0, .processor = "EPYC", .program = "0.1.0, commit a"},
                          {.job = 1, .rank = 1, .processor = "Xeon", .program = "0.1.0, commit a"},
                          {.job = 2, .rank = 0, .processor = "EPYC", .program = "0.1.0, commit b, modified"}};
  EXPECT_EQ(programs_text(opened), "0.1.0, commit a; 0.1.0, commit b, modified");
  EXPECT_EQ(processors_text(opened.account), "EPYC; Xeon");
}

TEST(RepeatLine, SearchesByTheConfigurationOfTheRunWithTheRanksOfItsLastJob) {
  run::OpenedRun opened = opened_run("my runs/a/", "search: {algorithm: random}");
  EXPECT_EQ(repeat_line(opened), "skyline search 'my runs/a/config.yaml' --run 'my runs/a-again'");
  opened.account.slots = {{.job = 1, .rank = 7}, {.job = 2, .rank = 0}, {.job = 2, .rank = 1}};
  EXPECT_EQ(repeat_line(opened),
            "mpirun -np 2 skyline search 'my runs/a/config.yaml' --run 'my runs/a-again'");
}

TEST(RepeatLine, TrainsTheModelsOfAnotherRunAgain) {
  const run::OpenedRun opened =
      opened_run("runs/longer",
                 "search: {algorithm: listed, from: /data/runs/a, numbers: [3, 17], seeds: 2}\n"
                 "final: {epochs: 30}\nrun: {seed: 5}\n");
  EXPECT_EQ(repeat_line(opened),
            "skyline train /data/runs/a --trial 3,17 --epochs 30 --seeds 2 --seed 5 --run runs/longer-again");
}

}  // namespace
}  // namespace skyline::report

#include "app/job/asked.hpp"

#include "core/config/config_text.hpp"

#include <string>

#include <gmock/gmock.h>

namespace skyline::app {
namespace {

ConfigNode tree(const std::string& yaml) {
  return load_yaml_text(yaml, "");
}

Asked asked() {
  return {.words = tree("{command: search, --wait: 3m}"),
          .folders = {{"working folder", "/home/ada", "7/."}, {"--run", "/home/ada/R", "7/R"}},
          .config_file = "a.yaml",
          .config = tree("{run: {seed: 1}, space: {parameters: {width: {choice: [4, 8]}}}}"),
          .mistake = {}};
}

template <typename Change>
std::string difference_with(Change change) {
  Asked mine = asked();
  change(mine);
  return asked_difference(asked(), mine, "rank 3");
}

TEST(AskedDifference, IsNoneWhereAllAreAskedForTheSame) {
  EXPECT_EQ(asked_difference(asked(), asked(), "rank 3"), "");
  EXPECT_EQ(difference_with([](Asked& mine) {
              mine.config = tree("{space: {parameters: {width: {choice: [4, 8]}}}, run: {seed: 1}}");
            }),
            "");
}

TEST(AskedDifference, NamesTheKeyAndBothValues) {
  EXPECT_EQ(difference_with([](Asked& mine) { mine.config = tree("{run: {seed: 2}}"); }),
            "run.seed: rank 0 has 1, rank 3 has 2");
  EXPECT_EQ(difference_with([](Asked& mine) {
              mine.config = tree("{run: {seed: 1}, space: {parameters: {width: {choice: [4, 16]}}}}");
            }),
            "space.parameters.width.choice[1]: rank 0 has 8, rank 3 has 16");
  EXPECT_EQ(difference_with([](Asked& mine) { mine.config = tree("{run: {seed: 1}, space: 3}"); }),
            "space: rank 0 has a map, rank 3 has 3");
  EXPECT_EQ(difference_with([](Asked& mine) { mine.config = tree("{run: {seed: 1}}"); }),
            "space: rank 0 has a map, rank 3 has none");
}

TEST(AskedDifference, NamesTheCommandTheOptionAndTheFolder) {
  EXPECT_EQ(difference_with([](Asked& mine) { mine.words = tree("{command: train, --wait: 3m}"); }),
            "command: rank 0 has search, rank 3 has train");
  EXPECT_EQ(difference_with([](Asked& mine) { mine.words = tree("{command: search, --wait: 4m}"); }),
            "--wait: rank 0 has 3m, rank 3 has 4m");
  EXPECT_EQ(
      difference_with([](Asked& mine) { mine.words = tree("{command: search, --wait: 3m, --resume: 1}"); }),
      "--resume: rank 3 was given it, rank 0 was not");
  EXPECT_EQ(difference_with([](Asked& mine) { mine.words = tree("{command: search}"); }),
            "--wait: rank 0 was given it, rank 3 was not");
  EXPECT_EQ(difference_with([](Asked& mine) {
              mine.folders[0] = {"working folder", "/tmp", "8/."};
            }),
            "working folder: rank 0 has /home/ada, rank 3 has /tmp");
  EXPECT_EQ(difference_with([](Asked& mine) {
              mine.folders[1] = {"--run", "/home/ada/S", "7/S"};
            }),
            "--run: rank 0 has /home/ada/R, rank 3 has /home/ada/S");
}

TEST(AskedDifference, IsNoneWhereAHostHasAnotherNameForTheFolderOrAnotherDiskWithIt) {
  EXPECT_EQ(difference_with([](Asked& mine) {
              for (AskedFolder& folder : mine.folders) folder.path = "/net" + folder.path;
            }),
            "");
  EXPECT_EQ(difference_with([](Asked& mine) {
              for (AskedFolder& folder : mine.folders) folder.number = "8" + folder.number;
            }),
            "");
}

TEST(AskedDifference, LetsRankZeroAloneHaveTheConfiguration) {
  EXPECT_EQ(difference_with([](Asked& mine) { mine.config = std::nullopt; }), "");
  EXPECT_EQ(difference_with([](Asked& mine) { mine.config = std::nullopt, mine.config_file = "b.yaml"; }),
            "configuration: rank 0 has a.yaml, rank 3 has b.yaml");
  EXPECT_EQ(difference_with(
                [](Asked& mine) { mine.config = std::nullopt, mine.mistake = "a.yaml:3:1: is no YAML"; }),
            "configuration: rank 3: a.yaml:3:1: is no YAML");
}

}  // namespace
}  // namespace skyline::app

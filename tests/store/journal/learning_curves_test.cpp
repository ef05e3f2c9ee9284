#include "store/journal/learning_curves.hpp"

#include "store/journal/journal_line.hpp"
#include "store/publish/publish.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::StartsWith;

class CoursesTest : public ::testing::Test {
 protected:
  CoursesTest() { std::filesystem::create_directories(paths.courses()); }

  ScratchFolder folder;
  RunPaths paths{folder.path()};
  std::vector<trial::CurvePoint> course = {
      {10, {{"train_loss", 0.5}}},
      {17, {{"reward", 0.25}, {"train_loss", 1e-4}, {"validation_accuracy", 0.9}}}};
  const std::vector<trial::Metric> metrics{{.name = "validation_loss"},
                                           {.name = "validation_accuracy", .has_course = true},
                                           {.name = "latency_ms"}};
};

TEST_F(CoursesTest, ComeBackFromTheFilesOfAllRanks) {
  append_course(paths, 0, {{3}, 1.5}, course);
  append_course(paths, 2, {{3, true}, 7}, {course[1]});
  append_course(paths, 2, {{3, true, 2}, 7}, {course[0]});
  append_course(paths, 0, {{4}, 2}, {});
  const LearningCurves courses = read_courses(paths, metrics);
  ASSERT_EQ(courses.size(), 4U);
  const LearningCurve& both = courses.at({{3}, 1.5});
  EXPECT_EQ(both.steps, (std::vector<std::int64_t>{10, 17}));
  EXPECT_EQ(both.value(0, "train_loss"), 0.5);
  EXPECT_TRUE(std::isnan(both.value(0, "reward")));
  EXPECT_EQ(both.value(1, "reward"), 0.25);
  EXPECT_TRUE(std::isnan(both.value(1, "validation_loss")));
  EXPECT_EQ(courses.at({{3, true}, 7}).value(0, "validation_accuracy"), 0.9);
  EXPECT_EQ(courses.at({{3, true, 2}, 7}).value(0, "train_loss"), 0.5);
  EXPECT_TRUE(courses.at({{4}, 2}).steps.empty());
}

TEST_F(CoursesTest, AreNotWrittenWhereSomebodyElsePutALinkOrAPipe) {
  const std::filesystem::path precious = folder / "precious";
  const std::filesystem::path file = paths.courses() / "0.jsonl";
  const auto error = [&] { return user_error_of([&] { append_course(paths, 0, {{3}, 1.5}, course); }); };
  const std::string expected = file.string() + ": expected a file with this name alone, found ";
  overwrite(precious, "mine");
  std::filesystem::create_symlink(precious, file);
  EXPECT_THAT(error(), StartsWith(expected + "a symbolic link"));
  std::filesystem::remove(file);
  std::filesystem::create_hard_link(precious, file);
  EXPECT_THAT(error(), StartsWith(expected + "a hard link"));
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(error(), StartsWith(expected + "a pipe or a device"));
  EXPECT_EQ(read_file(precious), "mine");
}

TEST_F(CoursesTest, HaveTheNamesOfTrainingsFirstAndThenAllOthers) {
  append_course(paths, 0, {{3}, 1.5}, {{1, {{"step", 3}, {"reward", 1}, {"validation_accuracy", 0.9}}}});
  EXPECT_EQ(course_names(metrics, read_courses(paths, metrics)),
            (std::vector<std::string>{"train_loss", "learning_rate", "validation_loss", "validation_accuracy",
                                      "reward"}));
}

TEST_F(CoursesTest, Have64OtherNamesInTablesAtMost) {
  for (trial::TrialNumber trial = 0; trial < 70; ++trial) {
    append_course(paths, 0, {{trial}, 1.5}, {{1, {{"n" + std::to_string(trial), 1}}}});
  }
  const std::vector<std::string> names = course_names(metrics, read_courses(paths, metrics));
  EXPECT_EQ(names.size(), 4U + 64U);
  EXPECT_EQ(names.back(), "n63");
}

TEST_F(CoursesTest, OfEarlierVersionsHaveTheirValuesInTheOrderOfTheRunsMetrics) {
  append_course(paths, 0, {{3}, 1.5}, course);
  const auto file = paths.courses() / "0.jsonl";
  auto line = nlohmann::ordered_json{{"k", 4}, {"final", false}, {"started_s", 2.5}};
  line["points"] = {{10, 0.5, 1e-3, "nan"}, {17, 0.25, 1e-4, 0.3, 0.9}};
  std::ofstream(file, std::ios::app) << seal_line(line);
  const LearningCurve old = read_courses(paths, metrics).at({{4}, 2.5});
  EXPECT_EQ(old.value(0, "train_loss"), 0.5);
  EXPECT_EQ(old.value(1, "learning_rate"), 1e-4);
  EXPECT_EQ(old.value(1, "validation_loss"), 0.3);
  EXPECT_TRUE(std::isnan(old.value(0, "validation_accuracy")));
  EXPECT_EQ(old.value(1, "validation_accuracy"), 0.9);
}

TEST_F(CoursesTest, OfSeveralTrainingsOfATrialAreToldApartWhicheverRankTrained) {
  append_course(paths, 1, {{5, true}, 0.1 + 0.2}, course);
  append_course(paths, 0, {{5, true}, 20}, {course[1]});
  append_course(paths, 0, {{5, true}, 20}, course);
  const LearningCurves courses = read_courses(paths, metrics);
  EXPECT_EQ(courses.size(), 2U);
  EXPECT_EQ(courses.at({{5, true}, 0.1 + 0.2}).steps.size(), 2U);
  EXPECT_EQ(courses.at({{5, true}, 20}).steps.size(), 2U);
}

TEST_F(CoursesTest, SurviveALineThatDoesNotEnd) {
  append_course(paths, 0, {{1}, 1}, course);
  append_course(paths, 0, {{2}, 1}, course);
  const auto file = paths.courses() / "0.jsonl";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 20);
  append_course(paths, 0, {{3}, 1}, course);
  std::ofstream(file, std::ios::app) << "no course\n[1]\n";
  const LearningCurves courses = read_courses(paths, metrics);
  EXPECT_EQ(courses.size(), 2U);
  EXPECT_TRUE(courses.contains({{1}, 1}));
  EXPECT_TRUE(courses.contains({{3}, 1}));
}

TEST_F(CoursesTest, AreNoneWhereThereIsNoFolder) {
  EXPECT_TRUE(read_courses({folder / "elsewhere"}, metrics).empty());
}

}  // namespace
}  // namespace skyline::store

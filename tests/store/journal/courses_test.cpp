#include "store/journal/courses.hpp"

#include "store/fixtures/scratch_folder.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace skyline::store {
namespace {

using skyline::testing::ScratchFolder;

class CoursesTest : public ::testing::Test {
 protected:
  CoursesTest() { std::filesystem::create_directories(paths.courses()); }

  ScratchFolder folder;
  RunPaths paths{folder.path()};
  std::vector<trial::CoursePoint> course = {{10, 0.5, 1e-3}, {17, 0.25, 1e-4, 0.3, {0.9, 4}}};
};

TEST_F(CoursesTest, ComeBackFromTheFilesOfAllRanks) {
  append_course(paths, 0, {{3}, 1.5}, course);
  append_course(paths, 2, {{3, true}, 7}, {course[1]});
  append_course(paths, 0, {{4}, 2}, {});
  const Courses courses = read_courses(paths);
  ASSERT_EQ(courses.size(), 3U);
  ASSERT_EQ(courses.at({{3}, 1.5}).size(), 2U);
  EXPECT_EQ(courses.at({{3}, 1.5})[0].step, 10);
  EXPECT_EQ(courses.at({{3}, 1.5})[0].train_loss, 0.5);
  EXPECT_TRUE(std::isnan(courses.at({{3}, 1.5})[0].validation_loss));
  const trial::CoursePoint& last = courses.at({{3, true}, 7}).at(0);
  EXPECT_EQ(last.learning_rate, 1e-4);
  EXPECT_EQ(last.validation_loss, 0.3);
  EXPECT_EQ(last.validation_metrics, (std::vector<double>{0.9, 4}));
}

TEST_F(CoursesTest, OfSeveralTrainingsOfATrialAreToldApartWhicheverRankTrained) {
  append_course(paths, 1, {{5, true}, 0.1 + 0.2}, course);
  append_course(paths, 0, {{5, true}, 20}, {course[1]});
  append_course(paths, 0, {{5, true}, 20}, course);
  const Courses courses = read_courses(paths);
  EXPECT_EQ(courses.size(), 2U);
  EXPECT_EQ(courses.at({{5, true}, 0.1 + 0.2}).size(), 2U);
  EXPECT_EQ(courses.at({{5, true}, 20}).size(), 2U);
}

TEST_F(CoursesTest, SurviveALineThatDoesNotEnd) {
  append_course(paths, 0, {{1}, 1}, course);
  append_course(paths, 0, {{2}, 1}, course);
  const auto file = paths.courses() / "0.jsonl";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 20);
  append_course(paths, 0, {{3}, 1}, course);
  std::ofstream(file, std::ios::app) << "no course\n[1]\n";
  const Courses courses = read_courses(paths);
  EXPECT_EQ(courses.size(), 2U);
  EXPECT_TRUE(courses.contains({{1}, 1}));
  EXPECT_TRUE(courses.contains({{3}, 1}));
}

TEST_F(CoursesTest, AreNoneWhereThereIsNoFolder) {
  EXPECT_TRUE(read_courses({folder / "elsewhere"}).empty());
}

}  // namespace
}  // namespace skyline::store

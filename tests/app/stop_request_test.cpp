#include "app/job/stop_request.hpp"

#include "core/log.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::app {
namespace {

using ::testing::HasSubstr;

constexpr double kStart = 1.7e9;

/// A Slurm job that says this of its end.
comm::Launch ends_at(const char* time) {
  return {.job_end = time};
}

/// The log lines of `act`.
template <typename Act>
std::string logged(const Act& act) {
  const auto path = std::filesystem::temp_directory_path() / ("skyline-stop-" + std::to_string(getpid()));
  log::start({.file = path.string(), .prefix = "", .terminal_level = log::Level::kError});
  act();
  log::stop();
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return text;
}

TEST(StopTime, IsTheTimeLimitOrAMinuteBeforeTheEndOfTheSlurmJobWhicheverIsFirst) {
  EXPECT_FALSE(find_stop_time(std::nullopt, {}, kStart));
  const auto limit = find_stop_time(100, {}, kStart);
  EXPECT_EQ(limit->after_s, 100);
  EXPECT_EQ(limit->cause, "at run.time_limit");
  const auto slurm = find_stop_time(std::nullopt, ends_at("1700003600"), kStart);
  EXPECT_EQ(slurm->after_s, 3540);
  EXPECT_EQ(slurm->cause, "a minute before the end of the Slurm job");
  EXPECT_EQ(find_stop_time(3539, ends_at("1700003600"), kStart)->cause, "at run.time_limit");
  EXPECT_EQ(find_stop_time(3541, ends_at("1700003600"), kStart)->cause,
            "a minute before the end of the Slurm job");
}

TEST(StopTime, IsNowInTheLastMinuteOfTheSlurmJob) {
  EXPECT_EQ(find_stop_time(100, ends_at("1700000030"), kStart)->after_s, 0);
}

TEST(StopTime, IsNotBoundByASlurmTimeThatMakesNoSense) {
  for (const char* text : {"tomorrow", "", "1600000000", "-5"}) {
    std::optional<StopTime> stop;
    const std::string log = logged([&] { stop = find_stop_time(100, ends_at(text), kStart); });
    EXPECT_THAT(log,
                HasSubstr("SLURM_JOB_END_TIME: expected a time in the future, in seconds since 1970, got \"" +
                          std::string(text) + "\"; it does not bound this job"));
    EXPECT_EQ(stop->cause, "at run.time_limit");
  }
}

TEST(StopRequest, IsRequestedByASignalAndNamesIt) {
  const StopRequest stop;
  EXPECT_FALSE(stop.requested());
  EXPECT_FALSE(stop.seconds_left());
  ASSERT_EQ(::raise(SIGTERM), 0);
  EXPECT_TRUE(stop.requested());
  EXPECT_EQ(stop.cause(), "on SIGTERM");
}

TEST(StopRequest, IsRequestedWhenTheTimeIsUpAndSaysBeforeWhenThatWillBe) {
  StopRequest stop;
  const std::string log = logged([&] {
    stop.limit(3600, {});
    stop.announce();
  });
  EXPECT_THAT(log, ::testing::ContainsRegex("this job stops early on 2.*:.*:.*, at run.time_limit"));
  EXPECT_FALSE(stop.requested());
  EXPECT_EQ(stop.cause(), "on a signal to another rank");
  EXPECT_NEAR(stop.seconds_left().value(), 3600, 60);
  stop.limit(1e-9, {});
  EXPECT_TRUE(stop.requested());
  EXPECT_EQ(stop.seconds_left(), 0);
  EXPECT_EQ(stop.cause(), "at run.time_limit");
}

}  // namespace
}  // namespace skyline::app

#include "core/log.hpp"
#include "report/sample_run.hpp"
#include "report/text/status.hpp"
#include "store/publish/publish.hpp"

#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(PublishEnd, KeepsTheRestOfTheStatus) {
  const testing::SampleFolder folder;
  RunStatus status;
  status.committed = 37;
  status.in_flight = 4;
  status.eta_s = 250;
  folder.write(folder.paths().status_json(), status.to_json());
  publish_end(folder.paths(), {"812", 3, 75});
  const RunStatus read = read_status(folder.paths()).value();
  EXPECT_EQ(read.ending, (JobEnding{"812", 3, 75}));
  EXPECT_EQ(read.committed, 37U);
  EXPECT_EQ(read.in_flight, 0U);
  EXPECT_EQ(read.eta_s, std::nullopt);
}

TEST(PublishEnd, ReplacesAStatusThatCannotBeRead) {
  const testing::SampleFolder folder;
  folder.write(folder.paths().status_json(), "{");
  publish_end(folder.paths(), {"812", 3, 75});
  EXPECT_EQ(read_status(folder.paths()).value().ending, (JobEnding{"812", 3, 75}));
}

TEST(PublishEnd, SaysWhetherTheRunIsFinishedStoppedOrFailed) {
  const testing::SampleFolder folder;
  for (const auto& [exit_code, state] :
       {std::pair{0, "finished"}, std::pair{3, "finished"}, std::pair{75, "stopped"}, std::pair{2, "failed"},
        std::pair{70, "failed"}, std::pair{76, "failed"}}) {
    publish_end(folder.paths(), {"", 0, exit_code});
    EXPECT_EQ(read_status(folder.paths()).value().state, state) << exit_code;
  }
}

TEST(PublishEnd, WarnsOfAFileSystemThatDoesNotAnswerInTimeAndLeavesIt) {
  const testing::SampleFolder folder;
  const store::RunPaths& paths = folder.paths();
  log::start({paths.log().string(), "", log::Level::kError});
  publish_end(paths, {"", 0, 0}, std::chrono::milliseconds(0));
  log::stop();
  EXPECT_THAT(testing::text_of(paths.log()),
              ::testing::HasSubstr(paths.status_json().string() +
                                   " does not say how this job ended: the file system does not answer"));
  while (!store::exists(paths.status_json())) std::this_thread::yield();  // before the folder goes
}

}  // namespace
}  // namespace skyline::report

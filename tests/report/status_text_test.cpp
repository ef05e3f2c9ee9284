#include "core/log.hpp"
#include "report/sample_run.hpp"
#include "report/text/status.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/running_trials.hpp"
#include "support/user_error_of.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::report {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

RunStatus sample_status(const std::string& state) {
  RunStatus status;
  status.state = state;
  status.done = 37;
  status.expected = 74;
  status.committed = 37;
  status.in_flight = 12;
  status.waiting = 3;
  status.failed = 2;
  status.front = 9;
  status.best = {{"validation_accuracy", 0.98123}, {"flops", 88138}};
  status.replayed = 20;
  status.slots = 4;
  status.ranks = 2;
  status.nodes = 1;
  status.elapsed_s = 185;
  status.eta_s = 250;
  status.recent = {"trial 35 committed: depth=3", "trial 36 committed: depth=4"};
  return status;
}

TEST(RunStatus, ReadsBackWhatItWrote) {
  RunStatus status = sample_status("stopped");
  status.phase = "final";
  status.elapsed_s = 12.5;
  status.updated = 1.7e9;
  status.recent = {"trial 1 committed", "a \"quoted\" line"};
  status.search_summary = "a model of 12 results";
  EXPECT_EQ(RunStatus::parse(status.to_json(), "status.json"), status);

  status.eta_s.reset();
  status.ending = JobEnding{"812_3", 2, 75, true, false};
  EXPECT_EQ(RunStatus::parse(status.to_json(), "status.json"), status);
}

TEST(RunStatus, IsReadWithoutABestValueThatIsInfinite) {
  RunStatus status;
  status.best = {{"score", INFINITY}, {"flops", 88138}};
  const std::vector<BestValue> finite{{"flops", 88138}};
  EXPECT_EQ(RunStatus::parse(status.to_json(), "status.json").best, finite);
}

TEST(RunStatus, RefusesATextThatIsNoStatusAndNamesTheFile) {
  const auto parse = [](const std::string& text) {
    return testing::user_error_of([&] { RunStatus::parse(text, "runs/x/status.json"); });
  };
  EXPECT_THAT(parse("{"), StartsWith("runs/x/status.json: expected the status of a run, got "));
  EXPECT_THAT(parse("{\"state\": 3}"), StartsWith("runs/x/status.json: expected the status of a run"));
  EXPECT_THAT(parse("[]"), StartsWith("runs/x/status.json: expected the status of a run"));
}

TEST(RunStatus, RefusesNumbersThatNoRunHas) {
  RunStatus status;
  status.done = 33;
  status.elapsed_s = 12.5;
  const std::string text = status.to_json();
  const auto error_with = [&](const std::string& found, const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find(found), found.size(), other);
    return testing::user_error_of([&] { RunStatus::parse(changed, "status.json"); });
  };
  for (const std::string number : {"-1", "1e300", "123456789012345678901234567890"}) {
    EXPECT_THAT(error_with("33", number), StartsWith("status.json: expected the status of a run, got "));
    EXPECT_THAT(error_with("12.5", number), StartsWith("status.json: expected the status of a run, got "));
  }
}

TEST(RunStatus, RefusesNestingWithoutEnd) {
  EXPECT_THAT(testing::user_error_of([&] { RunStatus::parse(std::string(3'000'000, '['), "status.json"); }),
              StartsWith("status.json: expected the status of a run"));
}

/// A run folder with this status and a journal of a header, so many trials and a lost rank.
void fill(const testing::SampleFolder& folder, const RunStatus& status, std::size_t trials = 37) {
  const std::filesystem::path journal = folder.paths().journal();
  std::filesystem::remove(journal);
  store::JournalWriter::create(journal, {.skyline_version = "0.1.0",
                                         .config_hash = std::string(64, 'c'),
                                         .metrics = testing::sample_metrics()});
  std::string text = store::read_file(journal) + "{\"lost\":3}\n";
  for (std::size_t i = 0; i < trials; ++i) text += "{\"position\":0}\n";
  folder.write(journal, text);
  folder.write(folder.paths().status_json(), status.to_json());
}

TEST(StatusText, TellsAboutARunningJob) {
  const testing::SampleFolder folder;
  fill(folder, sample_status("running"));
  const auto claim = store::RunClaim::acquire(folder.paths());
  const std::string text = status_text(folder.paths());
  const std::string root = folder.paths().root.string();
  EXPECT_THAT(text, StartsWith(root + ": running, process " + std::to_string(::getpid()) + " on host "));
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "  trials    search: 37 of at most 74 · 12 in flight, 3 of them done · 2 failed · 37 in the "
            "journal (20 of "
            "earlier jobs)\n"
            "  front     9 trials\n"
            "  best      validation_accuracy 0.9812 · flops 88.14 k\n"
            "  time      3:05 elapsed · 5.51 trials/min · ETA 4:10\n"
            "  slots     4 in 2 ranks on 1 node\n"
            "  last      trial 35 committed: depth=3\n"
            "            trial 36 committed: depth=4\n");
  EXPECT_EQ(status_text(folder.paths(), 39), text) << "just wide enough";
  EXPECT_THAT(status_text(folder.paths(), 38), HasSubstr("\n  last      trial 35 committed: dep...\n"));
}

TEST(StatusText, SaysWhatTheSearchSaysAboutItself) {
  const testing::SampleFolder folder;
  RunStatus status = sample_status("finished");
  status.search_summary = "a model of 37 results";
  fill(folder, status);
  EXPECT_THAT(status_text(folder.paths()), HasSubstr("\n  search    a model of 37 results\n  time "));
}

TEST(StatusText, TellsWhatEachSlotOfARunningJobTrains) {
  const testing::SampleFolder folder;
  fill(folder, sample_status("running"));
  std::filesystem::create_directories(folder.paths().checkpoints());
  {
    store::RunningTrials first(folder.paths(), 2, 2, "job", {});
    store::RunningTrials second(folder.paths(), 10, 12, "job", {});
    first.begins(1, {17, true}, "depth=3");
    for (std::size_t slot = 0; slot < 12; ++slot) second.begins(slot, {20 + slot}, "depth=4");
    second.is_overdue(0, {20});
  }
  EXPECT_THAT(status_text(folder.paths()), Not(HasSubstr("training"))) << "no job goes on";
  const auto claim = store::RunClaim::acquire(folder.paths());
  const std::string text = status_text(folder.paths());
  EXPECT_THAT(text, HasSubstr("  training  rank 2 slot 1: trial 17.final, for 0:0"));
  EXPECT_THAT(text, HasSubstr(", depth=3\n            rank 10 slot 0: trial 20, for 0:0"));
  EXPECT_THAT(text, HasSubstr(", longer than run.trial_timeout and does not stop, depth=4\n"));
  EXPECT_THAT(text, EndsWith("            and 5 more\n"));
  EXPECT_THAT(status_line(folder.paths()),
              EndsWith(" · 5.51 trials/min · training trial 17.final, 20, 21, 22, 23, 24, 25, 26, ...\n"));
  EXPECT_THAT(status_json(folder.paths(), "[]"),
              AllOf(HasSubstr(R"("training":[{"rank":2,"slot":1,"trial":"17.final","begun":)"),
                    HasSubstr(R"("overdue":true,"genotype":"depth=4"})")));
}

TEST(StatusText, ShowsControlCharactersOfItsFilesInsteadOfObeyingThem) {
  const testing::SampleFolder folder;
  RunStatus status = sample_status("finished");
  status.phase = "\x1b[2Jsearch";
  status.recent = {"trial 1\n  front     9 trials"};
  fill(folder, status);
  const std::string text = status_text(folder.paths());
  EXPECT_THAT(text, HasSubstr("  trials    \\x1b[2Jsearch: 37 of"));
  EXPECT_THAT(text, HasSubstr("  last      trial 1\\x0a  front     9 trials\n"));
}

TEST(StatusText, TellsThatARunIsFinished) {
  const testing::SampleFolder folder;
  fill(folder, sample_status("finished"));
  EXPECT_THAT(status_text(folder.paths()), StartsWith(folder.paths().root.string() + ": finished\n"));
}

TEST(StatusText, TellsThatARunIsStoppingAndThatItHasStopped) {
  const testing::SampleFolder folder;
  const std::string root = folder.paths().root.string();
  fill(folder, sample_status("stopped"));
  EXPECT_THAT(status_text(folder.paths()), StartsWith(root + ": stopped; resume with --resume\n"));
  fill(folder, sample_status("stopping"));
  const auto claim = store::RunClaim::acquire(folder.paths());
  EXPECT_THAT(status_text(folder.paths()),
              StartsWith(root + ": stopping, running trials save their state, process "));
}

TEST(StatusText, TellsHowToGoOnWithARunWhoseJobIsGone) {
  const testing::SampleFolder folder;
  for (const char* state : {"running", "stopping", "failed"}) {
    fill(folder, sample_status(state));
    const std::string text = status_text(folder.paths());
    EXPECT_THAT(text, StartsWith(folder.paths().root.string() + ": not running; resume with --resume\n"));
    EXPECT_THAT(text, Not(HasSubstr("ETA")));
    EXPECT_THAT(text, Not(HasSubstr("in flight")));
  }
}

TEST(StatusText, TellsTheExitCodeOfAJobThatFailed) {
  const testing::SampleFolder folder;
  RunStatus status = sample_status("failed");
  fill(folder, status);
  EXPECT_EQ(last_exit_code(folder.paths()), std::nullopt);
  status.ending = JobEnding{.exit_code = 76};
  fill(folder, status);
  EXPECT_THAT(status_text(folder.paths()), StartsWith(folder.paths().root.string() +
                                                      ": failed with exit code 76; resume with --resume\n"));
  EXPECT_EQ(last_exit_code(folder.paths()), 76);
}

TEST(StatusText, CountsTheJournalIfItIsAheadOfTheStatus) {
  const testing::SampleFolder folder;
  RunStatus status = sample_status("running");
  status.committed = 2;
  fill(folder, status, 3);
  EXPECT_THAT(status_text(folder.paths()), HasSubstr("3 in the journal"));
}

TEST(StatusText, ClaimsNoTrialsThatAJobCouldNotSave) {
  const testing::SampleFolder folder;
  RunStatus status = sample_status("failed");
  status.ending = JobEnding{.exit_code = 76};
  fill(folder, status, 11);
  EXPECT_EQ(status_text(folder.paths()), folder.paths().root.string() +
                                             ": failed with exit code 76; resume with --resume\n"
                                             "  trials    11 in the journal, of 37 committed\n");
}

TEST(StatusText, DoesWithoutAStatusAndATornLastLine) {
  const testing::SampleFolder folder;
  folder.write(folder.paths().journal(), "header\n{\"position\":0}\n{\"positi");
  EXPECT_EQ(status_text(folder.paths()), folder.paths().root.string() +
                                             ": not running; resume with --resume\n"
                                             "  trials    1 in the journal\n");
}

TEST(StatusText, RefusesAFolderThatIsNoRun) {
  EXPECT_EQ(testing::user_error_of([] { status_text(store::RunPaths{"runs/no_such_run"}); }),
            "runs/no_such_run: not a run folder (no journal.jsonl)");
}

TEST(StatusText, LeavesADamagedStatusOutAndSaysSo) {
  const testing::SampleFolder folder;
  folder.write(folder.paths().journal(), "header\n");
  const std::string without = status_text(folder.paths());
  folder.write(folder.paths().status_json(), "not json");
  log::start({});  // shows warnings
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(status_text(folder.paths()), without);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr(folder.paths().status_json().string() +
                        ": expected the status of a run, got another text; it is left out"));
}

}  // namespace
}  // namespace skyline::report

#include "store/journal/journal.hpp"

#include "store/fixtures/journal_fixture.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/publish/publish.hpp"
#include "support/file_size_limit.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::FileSizeLimit;
using skyline::testing::overwrite;
using skyline::testing::same_trial;
using skyline::testing::sample_header;
using skyline::testing::sample_trials;
using skyline::testing::user_error_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using trial::CommittedTrial;

TEST_F(Journal, ReadsBackBitByBit) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 4500);  // several threads, and twice
  write(trials);
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.header, sample_header());
  EXPECT_FALSE(contents.torn_tail);
  EXPECT_EQ(contents.valid_bytes, std::filesystem::file_size(path));
  ASSERT_EQ(contents.entries.size(), trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i)
    EXPECT_TRUE(same_trial(*contents.entries[i], trials[i])) << i;
}

TEST_F(Journal, OneTrialIsOneLineOfJsonWithASum) {
  write(sample_trials(space, 5));
  ASSERT_EQ(lines().size(), 6u);
  for (std::size_t number = 1; number <= 6; ++number) {
    EXPECT_EQ(lines()[number - 1], with_sum(json_of(number).dump())) << number;
  }
  EXPECT_EQ(json_of(2)["k"], 0);
  EXPECT_EQ(json_of(5)["status"], "diverged");
}

TEST_F(Journal, GroupsOfLinesGiveTheSameFileAsOneGroup) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 6);
  write(trials);
  const std::string whole = read_file(path);
  std::filesystem::remove(path);
  const auto writer = JournalWriter::create(path, sample_header());
  for (const CommittedTrial& trial : trials) writer->append(testing::shared({trial}), space);
  writer->append({}, space);
  EXPECT_EQ(read_file(path), whole);
}

TEST_F(Journal, CanonicalTextHasNoTimesPlacesExpectationsAndSums) {
  std::vector<CommittedTrial> trials = sample_trials(space, 20);
  write(trials);
  const std::string canonical = canonical_journal(path);
  std::filesystem::remove(path);
  for (CommittedTrial& trial : trials) {
    trial.timing = {77, 88, 99, 1, 2, 3, 4};
    trial.trial.proposal.expected = trial::Expected{0, 1, 2};
  }
  write(trials);
  EXPECT_EQ(canonical_journal(path), canonical);
  EXPECT_THAT(canonical, Not(HasSubstr("where")));
  EXPECT_THAT(canonical, Not(HasSubstr("expected")));
  EXPECT_THAT(canonical, Not(HasSubstr("\"sum\"")));
  EXPECT_EQ(std::count(canonical.begin(), canonical.end(), '\n'), 21);
}

TEST_F(Journal, TellsOfLostRanksInLinesThatAreNoPartOfItsCanonicalText) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 4);
  write(trials);
  const std::string canonical = canonical_journal(path);
  std::filesystem::remove(path);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append(testing::shared({trials.begin(), trials.begin() + 2}), space);
  writer->append({.rank = 3, .host = "node07", .cause = "silent", .trials = {{2}, {1, true}}});
  writer->append(testing::shared({trials.begin() + 2, trials.end()}), space);
  EXPECT_EQ(canonical_journal(path), canonical);
  EXPECT_EQ(read_journal(path, space).entries.size(), 4U);
  EXPECT_EQ(count_trials(path), 4U);
  const auto note = json_of(4);
  EXPECT_EQ(note["lost"], 3);
  EXPECT_EQ(note["host"], "node07");
  EXPECT_EQ(note["trials"].dump(), R"(["2","1.final"])");
}

TEST_F(Journal, NamesTriesThatFailedInTheLineOfTheirTrialAndNotInItsCanonicalText) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 2);
  write(trials);
  const std::string canonical = canonical_journal(path);
  std::filesystem::remove(path);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->note(trials[1].trial.name(), {.rank = 3, .host = "node07", .reason = "exit code 1"});
  writer->append(testing::shared(trials), space);
  EXPECT_EQ(canonical_journal(path), canonical);
  EXPECT_EQ(read_journal(path, space).entries.size(), 2U);
  EXPECT_FALSE(json_of(2)["where"].contains("failed_tries"));
  EXPECT_EQ(json_of(3)["where"]["failed_tries"].dump(),
            R"([{"rank":3,"host":"node07","reason":"exit code 1"}])");
}

TEST_F(Journal, TellsOfChangedProgramsInALineThatItsCanonicalTextHasToo) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 4);
  JournalHeader header = sample_header();
  header.programs = {{"measure.sh", "11"}, {"train.py", "22"}};
  const auto writer = JournalWriter::create(path, header);
  EXPECT_EQ(json_of(1)["programs"].dump(), R"({"measure.sh":"11","train.py":"22"})");
  writer->append(testing::shared({trials.begin(), trials.begin() + 2}), space);
  EXPECT_EQ(read_journal(path, space).header, header);
  writer->append_change({{"train.py", "33"}});
  writer->append(testing::shared({trials.begin() + 2, trials.end()}), space);
  EXPECT_THAT(canonical_journal(path), HasSubstr("\n{\"changed\":{\"train.py\":\"33\"}}\n{\"position\":2,"));
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.entries.size(), 4U);
  EXPECT_EQ(count_trials(path), 4U);
  EXPECT_EQ(contents.header.programs, (Checksums{{"measure.sh", "11"}, {"train.py", "33"}}));
  EXPECT_EQ(read_journal_header(path), header) << "the line alone";
  replace_line(4, R"({"changed":["train.py"]})");
  EXPECT_EQ(read_error(), at_line(4, R"(changed: expected checksums by file, got ["train.py"])"));
}

TEST_F(Journal, CanonicalTextShowsAnotherResult) {
  std::vector<CommittedTrial> trials = sample_trials(space, 3);
  write(trials);
  const std::string canonical = canonical_journal(path);
  std::filesystem::remove(path);
  double& value = std::get<trial::Measurements>(trials[1].outcome).values[1];
  value = std::nextafter(value, 1);
  write(trials);
  EXPECT_NE(canonical_journal(path), canonical);
}

TEST_F(Journal, DropsATornLastLineAndSaysSo) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 3);
  write(trials);
  const std::string text = read_file(path);
  const std::size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t length = last_line + 1; length < text.size(); ++length) {
    overwrite(path, text.substr(0, length));
    const JournalContents contents = read_journal(path, space);
    ASSERT_EQ(contents.entries.size(), 2u) << length;
    ASSERT_TRUE(contents.torn_tail) << length;
    ASSERT_EQ(contents.valid_bytes, last_line) << length;
  }
  overwrite(path, text.substr(0, last_line) + "{\"k\":2,\"sum\":\"00000000000000000000000000000000\"}\n");
  EXPECT_TRUE(read_journal(path, space).torn_tail);
  EXPECT_EQ(canonical_journal(path), canonical_journal(path));
}

TEST_F(Journal, GoesOnAfterATornLastLine) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 8);
  write(trials);
  const std::string whole = read_file(path);
  overwrite(path, whole.substr(0, whole.size() / 2));
  const JournalContents contents = read_journal(path, space);
  ASSERT_TRUE(contents.torn_tail);
  republish_journal(path, contents);
  const auto first = trials.begin() + static_cast<std::ptrdiff_t>(contents.entries.size());
  JournalWriter::resume(path, contents)->append(testing::shared({first, trials.end()}), space);
  EXPECT_EQ(read_file(path), whole);
}

TEST_F(Journal, RepublishingMakesAFileOfItsOwnWithoutATornTail) {
  write(sample_trials(space, 2));
  const std::string whole = read_file(path);
  overwrite(path, whole + "{\"k\":2,");
  std::filesystem::create_hard_link(path, folder / "what an earlier job has open");
  republish_journal(path, read_journal(path, space));
  EXPECT_EQ(read_file(path), whole);
  EXPECT_EQ(read_file(folder / "what an earlier job has open"), whole + "{\"k\":2,");
}

TEST_F(Journal, ReadsTrialsThatAreNotCommittedInTheOrderOfTheirNumbers) {
  std::vector<CommittedTrial> trials = sample_trials(space, 2);
  trials[0].trial.number = 5;
  write(trials);
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.entries.position_of(5), 0U);
  EXPECT_EQ(contents.entries.position_of(1), 1U);
  EXPECT_FALSE(contents.entries.position_of(0));
}

TEST_F(Journal, TellsInItsCanonicalFormWhatWasInherited) {
  std::vector<CommittedTrial> trials = sample_trials(space, 3);
  write(trials);
  EXPECT_THAT(canonical_journal(path),
              HasSubstr(R"("parents":[1,1],"inherits":{"from":1,"share":0.5},"epochs")"));
  std::filesystem::remove(path);
  trials[2].trial.proposal.start = trial::Fresh{};
  write(trials);
  EXPECT_THAT(canonical_journal(path), Not(HasSubstr("inherits")));
}

TEST_F(Journal, NamesARepetitionUnlessItIsTheFirst) {
  std::vector<CommittedTrial> trials = sample_trials(space, 2);
  trials[1].trial.proposal.repeat = 3;
  write(trials);
  const std::string canonical = canonical_journal(path);
  const std::size_t place = canonical.find(R"("repeat":3,"cost")");
  ASSERT_NE(place, std::string::npos) << canonical;
  EXPECT_EQ(canonical.find("repeat"), place + 1) << canonical;
  EXPECT_EQ(canonical.rfind("repeat"), place + 1) << canonical;
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.entries[0]->trial.proposal.repeat, 0U);
  EXPECT_EQ(contents.entries[1]->trial.proposal.repeat, 3U);
}

TEST_F(Journal, NamesARepeatOfAFullTrainingUnlessItIsTheFirst) {
  std::vector<CommittedTrial> trials = sample_trials(space, 6);
  trials[5] = trials[4];
  trials[5].position = 5;
  trials[5].trial.proposal.final_repeat = 2;
  write(trials);
  const std::string canonical = canonical_journal(path);
  const std::size_t place = canonical.find(R"("phase":"final","final_repeat":2,"arch")");
  ASSERT_NE(place, std::string::npos) << canonical;
  EXPECT_EQ(canonical.find("final_repeat"), canonical.rfind("final_repeat")) << canonical;
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.entries[4]->trial.name(), (trial::TrialName{3, true}));
  EXPECT_EQ(contents.entries[5]->trial.name(), (trial::TrialName{3, true, 2}));
}

TEST_F(Journal, RecordsTheKindOfDeviceOfARunThatTrains) {
  JournalHeader header = sample_header();
  EXPECT_EQ(header.device, "");
  header.device = "gpu";
  JournalWriter::create(path, header);
  EXPECT_EQ(read_journal(path, space).header, header);
}

TEST_F(Journal, TellsInItsCanonicalFormTheMembersOfAGroupAndNoSingleOne) {
  write(sample_trials(space, 4));
  const std::string canonical = canonical_journal(path);
  EXPECT_THAT(canonical, HasSubstr(R"("epochs":2.1,"horizon":6.0,"members":3,"cost":"1000002","seed")"));
  EXPECT_THAT(canonical, HasSubstr(R"("epochs":1.1,"horizon":1.1,"members":1,"cost":"1000001","seed")"));
}

TEST_F(Journal, ASecondOneIsNotStartedInItsPlace) {
  write(sample_trials(space, 1));
  const std::string text = read_file(path);
  EXPECT_EQ(
      user_error_of([&] { JournalWriter::create(path, sample_header()); }),
      path.string() + ": there is a journal already (resume with --resume, or choose another --run folder)");
  EXPECT_EQ(read_file(path), text);
}

TEST_F(Journal, OneWithoutTrialsIsReplacedAndItsWriterIsTold) {
  JournalHeader header = sample_header();
  const auto old = JournalWriter::create(path, header);
  header.device = "gpu";
  JournalWriter::create(path, header)->append(testing::shared(sample_trials(space, 1)), space);
  EXPECT_EQ(read_journal(path, space).header, header);
  EXPECT_THAT(user_error_of([&] { old->append(testing::shared(sample_trials(space, 1)), space); }),
              HasSubstr("another job has taken this run over"));
  EXPECT_EQ(read_journal(path, space).entries.size(), 1u);
}

TEST_F(Journal, AFullDiskLosesNothingAndTheWriterCanGoOn) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 6);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append(testing::shared({trials[0], trials[1]}), space);
  const std::string before = read_file(path);
  {
    const FileSizeLimit limit(before.size() + 50);
    EXPECT_EQ(fault_error_of([&] {
                writer->append(testing::shared({trials[2], trials[3]}), space);
              }),
              "cannot write " + path.string() + ": write: " + system_error_text(EFBIG));
  }
  EXPECT_EQ(read_file(path), before);
  writer->append(testing::shared({trials.begin() + 2, trials.end()}), space);
  EXPECT_EQ(read_journal(path, space).entries.size(), 6u);
}

TEST_F(Journal, DoesNotResumeAFileThatIsShorterThanItWas) {
  write(sample_trials(space, 3));
  const JournalContents contents = read_journal(path, space);
  std::filesystem::resize_file(path, 10);
  EXPECT_EQ(fault_error_of([&] { JournalWriter::resume(path, contents); }),
            path.string() + ": shorter than when it was read: expected " +
                std::to_string(contents.valid_bytes) + " bytes, got 10");
}

TEST_F(Journal, DoesNotRepublishAFileThatIsShorterThanItWas) {
  write(sample_trials(space, 3));
  const JournalContents contents = read_journal(path, space);
  std::filesystem::resize_file(path, 10);
  EXPECT_THAT(fault_error_of([&] { republish_journal(path, contents); }),
              HasSubstr(": shorter than when it was read: expected "));
  EXPECT_EQ(std::filesystem::file_size(path), 10u);
}

TEST_F(Journal, OfARunThatAnotherJobHasTakenOverIsLeftToThatJob) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 6);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append(testing::shared({trials[0], trials[1]}), space);
  const JournalContents contents = read_journal(path, space);
  republish_journal(path, contents);
  const auto other = JournalWriter::resume(path, contents);
  const auto expect_refused = [&](const std::string& expected) {
    EXPECT_EQ(user_error_of([&] { writer->append(testing::shared({trials[2]}), space); }),
              path.string() +
                  ": another job has taken this run over, this one ends (the journal is left to that job)");
    EXPECT_EQ(read_file(path), expected);
  };
  expect_refused(read_file(path));
  other->append(testing::shared({trials[2], trials[3]}), space);
  expect_refused(read_file(path));
  EXPECT_EQ(read_journal(path, space).entries.size(), 4u);
}

TEST_F(Journal, ThatHasGrownBySomebodyElsesLinesIsNotWrittenOver) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 4);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append(testing::shared({trials[0]}), space);
  JournalWriter::resume(path, read_journal(path, space))
      ->append(testing::shared({trials[1], trials[2]}), space);
  const std::string text = read_file(path);
  EXPECT_THAT(user_error_of([&] { writer->append(testing::shared({trials[1]}), space); }),
              HasSubstr("another job has taken this run over"));
  EXPECT_EQ(read_file(path), text);
}

TEST_F(Journal, IsNotResumedIfItWasNotRepublished) {
  write(sample_trials(space, 2));
  const std::string torn = read_file(path) + "{\"k\":2,";
  overwrite(path, torn);
  const JournalContents contents = read_journal(path, space);
  EXPECT_THAT(user_error_of([&] { JournalWriter::resume(path, contents); }), HasSubstr("another job"));
  EXPECT_EQ(read_file(path), torn);
}

TEST_F(Journal, TextThatIsNotUtf8IsKeptReadable) {
  std::vector<CommittedTrial> trials = sample_trials(space, 1);
  trials[0].outcome = trial::Failure{trial::FailureKind::kException, "bad \xff byte"};
  write(trials);
  const JournalContents contents = read_journal(path, space);
  EXPECT_THAT(std::get<trial::Failure>(contents.entries[0]->outcome).reason, EndsWith(" byte"));
}

}  // namespace
}  // namespace skyline::store

#include "store/run_folder/journal.hpp"

#include "core/text/hash.hpp"
#include "file_size_limit.hpp"
#include "sample_run.hpp"
#include "scratch_folder.hpp"
#include "store/publish/publish.hpp"
#include "support/user_error_of.hpp"

#include <cstdio>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::FileSizeLimit;
using skyline::testing::overwrite;
using skyline::testing::same_trial;
using skyline::testing::sample_header;
using skyline::testing::sample_space;
using skyline::testing::sample_trials;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using trial::CommittedTrial;

class Journal : public ::testing::Test {
 protected:
  void write(const std::vector<CommittedTrial>& trials) {
    JournalWriter::create(path, sample_header())->append(trials, space);
  }
  std::vector<std::string> lines() const {
    std::istringstream text(read_file(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  /// Replaces a line, from 1, by one with this JSON in it and a sum that matches.
  void replace_line(std::size_t number, const std::string& json) {
    std::vector<std::string> all = lines();
    all.at(number - 1) = with_sum(json);
    std::string text;
    for (const std::string& line : all) text += line + "\n";
    overwrite(path, text);
  }
  /// Writes the sum as docs/internals/files.md describes it.
  static std::string with_sum(const std::string& json) {
    const std::string body = json.substr(0, json.size() - 1);
    return body + ",\"sum\":\"" + checksum(body) + "\"}";
  }
  /// Line `number` as JSON without its sum.
  nlohmann::ordered_json json_of(std::size_t number) const {
    auto json = nlohmann::ordered_json::parse(lines().at(number - 1));
    json.erase("sum");
    return json;
  }
  std::string read_error() const {
    return user_error_of([&] { read_journal(path, space); });
  }
  std::string at_line(int number, const std::string& message) const {
    return path.string() + ": line " + std::to_string(number) + ": " + message;
  }

  ScratchFolder folder;
  std::filesystem::path path = folder / "journal.jsonl";
  space::SearchSpace space = sample_space();
};

TEST_F(Journal, ReadsBackBitByBit) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 40);
  write(trials);
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.header, sample_header());
  EXPECT_FALSE(contents.torn_tail);
  EXPECT_EQ(contents.valid_bytes, std::filesystem::file_size(path));
  ASSERT_EQ(contents.entries.size(), trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i)
    EXPECT_TRUE(same_trial(contents.entries[i], trials[i])) << i;
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
  for (const CommittedTrial& trial : trials) writer->append({trial}, space);
  writer->append({}, space);
  EXPECT_EQ(read_file(path), whole);
}

TEST_F(Journal, CanonicalTextHasNoTimesPlacesAndSums) {
  std::vector<CommittedTrial> trials = sample_trials(space, 20);
  write(trials);
  const std::string canonical = canonical_journal(path);
  std::filesystem::remove(path);
  for (CommittedTrial& trial : trials) trial.timing = {77, 88, 99, 1, 2, 3, 4};
  write(trials);
  EXPECT_EQ(canonical_journal(path), canonical);
  EXPECT_THAT(canonical, Not(HasSubstr("where")));
  EXPECT_THAT(canonical, Not(HasSubstr("\"sum\"")));
  EXPECT_EQ(std::count(canonical.begin(), canonical.end(), '\n'), 21);
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
  settle_journal(path, contents);
  const auto first = trials.begin() + static_cast<std::ptrdiff_t>(contents.entries.size());
  JournalWriter::resume(path, contents)->append({first, trials.end()}, space);
  EXPECT_EQ(read_file(path), whole);
}

TEST_F(Journal, SettlingMakesAFileOfItsOwnWithoutATornTail) {
  write(sample_trials(space, 2));
  const std::string whole = read_file(path);
  overwrite(path, whole + "{\"k\":2,");
  std::filesystem::create_hard_link(path, folder / "what an earlier job has open");
  settle_journal(path, read_journal(path, space));
  EXPECT_EQ(read_file(path), whole);
  EXPECT_EQ(read_file(folder / "what an earlier job has open"), whole + "{\"k\":2,");
}

TEST_F(Journal, RefusesDamageBeforeTheEndAndNamesTheLine) {
  write(sample_trials(space, 6));
  std::string text = read_file(path);
  const std::size_t place = text.find("\"k\":3");
  text[place + 20] ^= 1;
  overwrite(path, text);
  const std::string expected = at_line(5,
                                       "checksum does not match (the journal is damaged before its end: "
                                       "restore the file, or cut it off before "
                                       "this line to lose this trial and all later ones)");
  EXPECT_EQ(read_error(), expected);
  EXPECT_EQ(user_error_of([&] { canonical_journal(path); }), expected);
}

TEST_F(Journal, RefusesADamagedHeaderEvenIfItIsTheLastLine) {
  overwrite(path, "{\"format\":\"skyline-journal\"");
  EXPECT_THAT(read_error(), HasSubstr("line 1: checksum does not match"));
}

TEST_F(Journal, NamesAnEmptyAndAMissingFile) {
  EXPECT_EQ(read_error(), "cannot read " + path.string() + ": No such file or directory");
  overwrite(path, "");
  EXPECT_EQ(read_error(), path.string() + ": the file is empty, expected a journal");
}

TEST_F(Journal, RefusesAGapInThePositions) {
  write(sample_trials(space, 4));
  auto json = json_of(3);
  json["position"] = 2;
  replace_line(3, json.dump());
  EXPECT_EQ(read_error(), at_line(3, "expected position 1, got 2"));
  EXPECT_EQ(user_error_of([&] { canonical_journal(path); }), at_line(3, "expected position 1, got 2"));
}

TEST_F(Journal, ReadsTrialsThatAreNotCommittedInTheOrderOfTheirNumbers) {
  std::vector<CommittedTrial> trials = sample_trials(space, 2);
  trials[0].trial.number = 5;
  write(trials);
  const JournalContents contents = read_journal(path, space);
  EXPECT_EQ(contents.log.position_of(5), 0U);
  EXPECT_EQ(contents.log.position_of(1), 1U);
  EXPECT_FALSE(contents.log.position_of(0));
}

TEST_F(Journal, RefusesATrialThatIsThereTwice) {
  write(sample_trials(space, 6));
  auto json = json_of(3);
  json["k"] = 0;
  replace_line(3, json.dump());
  EXPECT_EQ(read_error(), at_line(3, "trial 0 is there for the second time"));
}

TEST_F(Journal, TakesTwoFullTrainingsOfATrialWithDifferentBudgetsAlone) {
  std::vector<CommittedTrial> trials = sample_trials(space, 5);
  trials.push_back(trials[4]);
  trials[5].position = 5;
  write(trials);
  EXPECT_EQ(read_error(), at_line(7, "trial 3.final is there for the second time"));
  std::filesystem::remove(path);
  trials[5].trial.proposal.budget.epochs = 100;
  write(trials);
  EXPECT_EQ(read_journal(path, space).entries.size(), 6U);
}

TEST_F(Journal, RefusesTheFullTrainingOfATrialThatIsNotThereOrOfAnotherArchitecture) {
  write(sample_trials(space, 5));
  const std::string expected =
      "k: expected the number of an earlier trial of this architecture, which this one trains, got ";
  for (const int other : {2, 9}) {
    auto json = json_of(6);
    json["k"] = other;
    replace_line(6, json.dump());
    EXPECT_EQ(read_error(), at_line(6, expected + std::to_string(other)));
  }
}

TEST_F(Journal, RefusesALineThatNestsWithoutEnd) {
  write(sample_trials(space, 2));
  const std::string expected = at_line(3, "expected a JSON object of at most 100 levels");
  for (const std::size_t levels : {101U, 2'000'000U}) {
    const std::string deep = std::string(levels, '[') + std::string(levels, ']');
    replace_line(3, R"({"k":1,"where":)" + deep + "}");
    EXPECT_EQ(read_error(), expected);
    EXPECT_EQ(user_error_of([&] { canonical_journal(path); }), expected);
  }
}

TEST_F(Journal, RefusesAValueThatIsNotInTheSpace) {
  write(sample_trials(space, 2));
  auto json = json_of(3);
  json["genotype"]["width"] = 5;
  replace_line(3, json.dump());
  EXPECT_EQ(read_error(), at_line(3, "genotype: 5 is not a value of parameter `width` in this space"));
}

TEST_F(Journal, TellsOneFromOnePointZero) {
  write(sample_trials(space, 2));
  auto json = json_of(3);
  json["genotype"]["width"] = 4.0;
  replace_line(3, json.dump());
  EXPECT_EQ(read_error(), at_line(3, "genotype: 4.0 is not a value of parameter `width` in this space"));
}

TEST_F(Journal, RefusesParametersThatDoNotFitTheSpace) {
  write(sample_trials(space, 2));
  const auto original = json_of(3);
  auto json = original;
  json["genotype"]["colour"] = 1;
  replace_line(3, json.dump());
  EXPECT_EQ(read_error(), at_line(3, "genotype: the space has no parameter `colour`"));
  json = original;
  json["genotype"].erase("width");
  replace_line(3, json.dump());
  EXPECT_EQ(read_error(), at_line(3, "genotype: no value of parameter `width`"));
}

TEST_F(Journal, RefusesAnotherArchitectureThanTheSpaceBuilds) {
  write(sample_trials(space, 2));
  auto json = json_of(2);
  const std::string built = json["arch"];
  json["arch"] = "0123456789abcdef";
  replace_line(2, json.dump());
  EXPECT_EQ(read_error(), at_line(2, "arch: the journal says 0123456789abcdef, but this space builds " +
                                         built + " from the genotype (the space has changed since)"));
}

TEST_F(Journal, RefusesMembersThatAreMissingOrWrong) {
  write(sample_trials(space, 2));
  const auto original = json_of(3);
  const auto error_with = [&](auto change) {
    auto json = original;
    change(json);
    replace_line(3, json.dump());
    return read_error();
  };
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(error_with([](Json& line) { line.erase("seed"); }), at_line(3, "missing member `seed`"));
  EXPECT_EQ(error_with([](Json& line) { line["seed"] = "12x"; }),
            at_line(3, "seed: expected a whole number as text, got \"12x\""));
  EXPECT_EQ(error_with([](Json& line) { line["iteration"] = -1; }),
            at_line(3, "iteration: expected a whole number, got -1"));
  EXPECT_EQ(error_with([](Json& line) { line["epochs"] = "many"; }),
            at_line(3, "epochs: expected a number, got \"many\""));
  EXPECT_EQ(error_with([](Json& line) { line["parents"] = {5}; }),
            at_line(3, "parents: expected earlier trials, got [5]"));
  EXPECT_EQ(
      error_with([](Json& line) { line["metrics"]["taste"] = 1; }).substr(0, at_line(3, "metrics:").size()),
      at_line(3, "metrics:"));
  EXPECT_THAT(error_with([](Json& line) { line["status"] = "fine"; }),
              HasSubstr("line 3: unknown kind of failure"));
  EXPECT_THAT(error_with([](Json& line) { line["phase"] = "third"; }), HasSubstr("line 3: unknown phase"));
  EXPECT_THAT(error_with([](Json& line) { line["where"] = 3; }), HasSubstr("line 3: missing member `rank`"));
  replace_line(3, "[1]");
  EXPECT_EQ(read_error(), at_line(3, "expected a JSON object of at most 100 levels"));
}

TEST_F(Journal, RefusesAnInheritanceThatCannotBe) {
  write(sample_trials(space, 3));
  const auto original = json_of(4);
  ASSERT_EQ(original["inherits"].dump(), R"({"from":1,"share":0.5})");
  const auto error_with = [&](const char* inherits) {
    auto json = original;
    json["inherits"] = nlohmann::ordered_json::parse(inherits);
    replace_line(4, json.dump());
    return read_error();
  };
  EXPECT_EQ(error_with(R"({"from":2,"share":0.5})"),
            at_line(4, R"(inherits.from: expected an earlier trial, got {"from":2,"share":0.5})"));
  EXPECT_EQ(error_with(R"({"from":1,"share":1.5})"),
            at_line(4, R"(inherits.share: expected a number from 0 to 1, got {"from":1,"share":1.5})"));
  EXPECT_EQ(error_with(R"({"from":1,"share":"nan"})"),
            at_line(4, R"(inherits.share: expected a number from 0 to 1, got {"from":1,"share":"nan"})"));
  EXPECT_EQ(error_with(R"({"share":1})"), at_line(4, "missing member `from`"));
  EXPECT_EQ(error_with("3"), at_line(4, "missing member `from`"));
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
  EXPECT_THAT(canonical, HasSubstr(R"("epochs":2.1,"members":3,"seed")"));
  EXPECT_THAT(canonical, HasSubstr(R"("epochs":1.1,"members":1,"seed")"));
}

TEST_F(Journal, RefusesAGroupThatIsNone) {
  write(sample_trials(space, 3));
  auto json = json_of(4);
  for (const char* members : {"0", "-2", "4294967296", R"("2")"}) {
    json["members"] = nlohmann::ordered_json::parse(members);
    replace_line(4, json.dump());
    EXPECT_THAT(read_error(), HasSubstr("line 4: members: expected ")) << members;
  }
}

TEST_F(Journal, RefusesAnotherFormatAndALaterVersion) {
  write({});
  auto json = json_of(1);
  json["version"] = 1;
  replace_line(1, json.dump());
  EXPECT_EQ(read_error(), at_line(1, "journal of version 1, this program reads version 4"));
  json["format"] = "diary";
  replace_line(1, json.dump());
  EXPECT_EQ(read_error(), at_line(1, "format: expected \"skyline-journal\", got \"diary\""));
}

TEST_F(Journal, OfAVersionWithAnotherChecksumIsRefusedAsThatVersion) {
  overwrite(path, R"({"format":"skyline-journal","version":2,"skyline_version":"0.1.0","crc":"d9099bcf"})"
                  "\n");
  EXPECT_EQ(read_error(), at_line(1, "journal of version 2, this program reads version 4"));
}

TEST_F(Journal, ASecondOneIsNotStartedInItsPlace) {
  write(sample_trials(space, 1));
  const std::string text = read_file(path);
  EXPECT_EQ(
      user_error_of([&] { JournalWriter::create(path, sample_header()); }),
      path.string() + ": there is a journal already (go on with --resume, or choose another --run folder)");
  EXPECT_EQ(read_file(path), text);
}

TEST_F(Journal, AFullDiskLosesNothingAndTheWriterCanGoOn) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 6);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append({trials[0], trials[1]}, space);
  const std::string before = read_file(path);
  {
    const FileSizeLimit limit(before.size() + 50);
    EXPECT_EQ(user_error_of([&] {
                writer->append({trials[2], trials[3]}, space);
              }),
              "cannot write " + path.string() + ": write: File too large");
  }
  EXPECT_EQ(read_file(path), before);
  writer->append({trials.begin() + 2, trials.end()}, space);
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

TEST_F(Journal, DoesNotSettleAFileThatIsShorterThanItWas) {
  write(sample_trials(space, 3));
  const JournalContents contents = read_journal(path, space);
  std::filesystem::resize_file(path, 10);
  EXPECT_THAT(fault_error_of([&] { settle_journal(path, contents); }),
              HasSubstr(": shorter than when it was read: expected "));
  EXPECT_EQ(std::filesystem::file_size(path), 10u);
}

TEST_F(Journal, OfARunThatAnotherJobHasTakenOverIsLeftToThatJob) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 6);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append({trials[0], trials[1]}, space);
  const JournalContents contents = read_journal(path, space);
  settle_journal(path, contents);
  const auto other = JournalWriter::resume(path, contents);
  const auto expect_refused = [&](const std::string& expected) {
    EXPECT_EQ(user_error_of([&] { writer->append({trials[2]}, space); }),
              path.string() +
                  ": another job has taken this run over, this one ends (the journal is left to that job)");
    EXPECT_EQ(read_file(path), expected);
  };
  expect_refused(read_file(path));
  other->append({trials[2], trials[3]}, space);
  expect_refused(read_file(path));
  EXPECT_EQ(read_journal(path, space).entries.size(), 4u);
}

TEST_F(Journal, ThatHasGrownBySomebodyElsesLinesIsNotWrittenOver) {
  const std::vector<CommittedTrial> trials = sample_trials(space, 4);
  const auto writer = JournalWriter::create(path, sample_header());
  writer->append({trials[0]}, space);
  JournalWriter::resume(path, read_journal(path, space))->append({trials[1], trials[2]}, space);
  const std::string text = read_file(path);
  EXPECT_THAT(user_error_of([&] { writer->append({trials[1]}, space); }),
              HasSubstr("another job has taken this run over"));
  EXPECT_EQ(read_file(path), text);
}

TEST_F(Journal, IsNotResumedIfItWasNotSettled) {
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
  EXPECT_THAT(std::get<trial::Failure>(contents.entries[0].outcome).reason, EndsWith(" byte"));
}

}  // namespace
}  // namespace skyline::store

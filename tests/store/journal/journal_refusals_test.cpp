#include "store/fixtures/journal_fixture.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"
#include "support/user_error_of.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::sample_trials;
using skyline::testing::user_error_of;
using ::testing::HasSubstr;
using trial::CommittedTrial;

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

TEST_F(Journal, NamesLineEndsOfWindowsAndAdvisesNoCut) {
  write(sample_trials(space, 3));
  std::string text;
  for (const char letter : read_file(path))
    text += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  overwrite(path, text);
  EXPECT_EQ(read_error(),
            path.string() +
                ": line 1: its end is CR LF, as Windows writes it: change that back in the whole "
                "file, e.g. with `sed -i 's/\\r$//'`, and nothing is lost");
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
  set(3, "/position", 2);
  EXPECT_EQ(read_error(), at_line(3, "expected position 1, got 2"));
  EXPECT_EQ(user_error_of([&] { canonical_journal(path); }), at_line(3, "expected position 1, got 2"));
}

TEST_F(Journal, CountsLinesOfLostRanksWhenItNamesALine) {
  std::vector<CommittedTrial> trials = sample_trials(space, 3);
  const auto writer = JournalWriter::create(path, skyline::testing::sample_header());
  writer->append({.rank = 3, .host = "node07", .cause = "silent", .trials = {}});
  writer->append(testing::shared(trials), space);
  set(4, "/position", 2);
  EXPECT_EQ(read_error(), at_line(4, "expected position 1, got 2"));
}

TEST_F(Journal, NamesTheFirstOfSeveralLinesThatAnotherSpaceWrote) {
  write(sample_trials(space, 300));
  for (const std::size_t number : {290U, 200U, 230U}) set(number, "/genotype/depth", 77);
  EXPECT_THAT(read_error(), HasSubstr("line 200: genotype: 77 is not a value of parameter `depth`"));
}

TEST_F(Journal, RefusesATrialThatIsThereTwice) {
  write(sample_trials(space, 6));
  set(3, "/k", 0);
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
    set(6, "/k", other);
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
  set(3, "/genotype/width", 5);
  EXPECT_EQ(read_error(), at_line(3, "genotype: 5 is not a value of parameter `width` in this space"));
}

TEST_F(Journal, TellsOneFromOnePointZero) {
  write(sample_trials(space, 2));
  set(3, "/genotype/width", 4.0);
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
  EXPECT_EQ(error_with([](Json& line) { line["origin"] = "a b"; }),
            at_line(3, "origin: expected 1 to 24 of the characters a-z, 0-9, _ and -, got `a b`"));
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
  ASSERT_EQ(json_of(4)["inherits"].dump(), R"({"from":1,"share":0.5})");
  const auto error_with = [&](const char* inherits) {
    set(4, "/inherits", nlohmann::ordered_json::parse(inherits));
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

TEST_F(Journal, RefusesAContinuationOfATrialThatIsNotAnEarlierOneOfTheSameArchitecture) {
  write(sample_trials(space, 7));
  ASSERT_EQ(json_of(8)["continues"], 4);
  for (const int from : {3, 5, 6}) {
    set(8, "/continues", from);
    EXPECT_EQ(read_error(),
              at_line(8, "continues: expected the number of an earlier trial of this architecture, got " +
                             std::to_string(from)));
  }
}

TEST_F(Journal, RefusesAGroupThatIsNone) {
  write(sample_trials(space, 3));
  for (const char* members : {"0", "-2", "4294967296", R"("2")"}) {
    set(4, "/members", nlohmann::ordered_json::parse(members));
    EXPECT_THAT(read_error(), HasSubstr("line 4: members: expected ")) << members;
  }
}

TEST_F(Journal, RefusesAnotherFormatAndALaterVersion) {
  write({});
  auto json = json_of(1);
  json["version"] = 1;
  replace_line(1, json.dump());
  EXPECT_EQ(read_error(), at_line(1, "journal of version 1, this program reads versions 8 and 9"));
  json["format"] = "diary";
  replace_line(1, json.dump());
  EXPECT_EQ(read_error(), at_line(1, "format: expected \"skyline-journal\", got \"diary\""));
}

TEST_F(Journal, OfAVersionWithAnotherChecksumIsRefusedAsThatVersion) {
  overwrite(path, R"({"format":"skyline-journal","version":2,"skyline_version":"0.1.0","crc":"d9099bcf"})"
                  "\n");
  EXPECT_EQ(read_error(), at_line(1, "journal of version 2, this program reads versions 8 and 9"));
}

}  // namespace
}  // namespace skyline::store

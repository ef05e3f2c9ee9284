#include "store/fixtures/sample_run.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/publish.hpp"
#include "support/commit_log_of.hpp"
#include "support/scratch_folder.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::store {
namespace {

using skyline::testing::commit_log_of;
using skyline::testing::overwrite;
using skyline::testing::same_trial;
using skyline::testing::sample_header;
using skyline::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trial::CommittedTrial;

class WaitingResults : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(paths.checkpoints()); }
  std::filesystem::path file(int rank) const {
    return paths.checkpoints() / ("results." + std::to_string(rank) + ".jsonl");
  }
  void write(int rank, const std::vector<std::size_t>& positions) const {
    trial::ResultsByName results;
    for (const std::size_t position : positions) results[trials[position].trial.name()] = trials[position];
    write_waiting_results(paths, rank, sample_header(), results, space);
  }
  /// Positions of those that are read back equal, when the first `committed` trials are.
  std::vector<std::size_t> read(std::size_t committed, const JournalHeader& header = sample_header()) {
    ::testing::internal::CaptureStderr();
    const trial::ResultsByName found =
        read_waiting_results(paths, header, space, commit_log_of(std::span(trials).first(committed)));
    warnings = ::testing::internal::GetCapturedStderr();
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const auto result = found.find(trials[i].trial.name());
      if (result == found.end()) continue;
      EXPECT_TRUE(same_trial(result->second, trials[i])) << i;
      positions.push_back(i);
    }
    EXPECT_EQ(positions.size(), found.size());
    return positions;
  }

  ScratchFolder folder;
  RunPaths paths{folder / "run"};
  space::SearchSpace space = skyline::testing::sample_space();
  std::vector<CommittedTrial> trials = skyline::testing::sample_trials(space, 20);
  std::string warnings;
};

TEST_F(WaitingResults, OfAllRanksReadBackBitByBit) {
  EXPECT_THAT(read(0), IsEmpty());
  write(0, {9, 12, 13});
  write(11, {10, 18});
  EXPECT_EQ(read(9), (std::vector<std::size_t>{9, 10, 12, 13, 18}));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(WaitingResults, OfCommittedTrialsAreLeftOut) {
  write(0, {9, 12, 13});
  EXPECT_EQ(read(13), (std::vector<std::size_t>{13}));
  EXPECT_THAT(read(14), IsEmpty());
}

TEST_F(WaitingResults, ThatInheritFromATrialThatNobodyKnowsArePassedOver) {
  write(0, {15, 17});  // 17 inherits from 8
  EXPECT_EQ(read(8), (std::vector<std::size_t>{15}));
  EXPECT_THAT(warnings,
              AllOf(HasSubstr(file(0).string() + ": line 3: inherits.from: expected an earlier trial"),
                    HasSubstr("; the trial is trained again\n")));
}

TEST_F(WaitingResults, OfAFullTrainingAreLeftOutIfTheOneThatIsCommittedHasTheSameBudget) {
  write(0, {9});
  EXPECT_THAT(read(10), IsEmpty());
  CommittedTrial other = trials[9];
  other.trial.proposal.budget.epochs *= 2;
  write_waiting_results(paths, 0, sample_header(), {{other.trial.name(), other}}, space);
  const trial::CommitLog committed = commit_log_of(std::span(trials).first(10));
  EXPECT_EQ(read_waiting_results(paths, sample_header(), space, committed).size(), 1U);
}

TEST_F(WaitingResults, OfADamagedLineAloneAreLost) {
  write(0, {9, 10, 12});
  std::string text = read_file(file(0));
  text[text.find("\"k\":8") + 4] = '2';
  overwrite(file(0), text);
  EXPECT_EQ(read(9), (std::vector<std::size_t>{9, 12}));
  EXPECT_THAT(warnings, HasSubstr(file(0).string() + ": line 3: checksum does not match; the trial is"));
}

TEST_F(WaitingResults, OfADamagedFileDoNotHideThoseOfAnother) {
  write(1, {9});
  for (const std::string& text : {std::string(), std::string("nonsense\n"), std::string(300, '\0')}) {
    overwrite(file(0), text);
    EXPECT_EQ(read(9), (std::vector<std::size_t>{9}));
    EXPECT_EQ(warnings.empty(), text.empty());
  }
  EXPECT_THAT(warnings, HasSubstr(file(0).string() + ": checksum does not match; its trials are"));
}

TEST_F(WaitingResults, OfAnotherRunOrVersionAreNotUsed) {
  write(0, {9});
  for (const auto change : {+[](JournalHeader& header) { header.skyline_version = "0.2.0"; },
                            +[](JournalHeader& header) { header.config_hash[0] = 'd'; },
                            +[](JournalHeader& header) { ++header.seed; }}) {
    JournalHeader header = sample_header();
    change(header);
    EXPECT_THAT(read(9, header), IsEmpty());
    EXPECT_THAT(warnings, HasSubstr(file(0).string() + ": results of another run"));
  }
}

TEST_F(WaitingResults, OfAnotherKindOfDeviceAreNotUsedUnlessItIsNotKnown) {
  const auto read_as = [&](const char* written, const char* asked) {
    JournalHeader header = sample_header();
    header.device = written;
    write_waiting_results(paths, 0, header, {{trials[9].trial.name(), trials[9]}}, space);
    header.device = asked;
    return read(9, header).size();
  };
  EXPECT_EQ(read_as("gpu", "gpu"), 1U);
  EXPECT_EQ(read_as("", "cpu"), 1U) << "of a version that did not record it";
  EXPECT_EQ(read_as("cpu", ""), 1U);
  EXPECT_EQ(read_as("gpu", "cpu"), 0U);
}

TEST_F(WaitingResults, AreThereOnceAFileHoldsMoreThanItsHeader) {
  EXPECT_FALSE(has_waiting_results(paths));
  write(0, {});
  EXPECT_FALSE(has_waiting_results(paths));
  write(3, {9});
  EXPECT_TRUE(has_waiting_results(paths));
}

TEST_F(WaitingResults, AreRemovedForAllRanksButOne) {
  for (const int rank : {0, 1, 10}) write(rank, {9});
  overwrite(paths.checkpoints() / "9.0.h5", "a checkpoint");
  remove_waiting_results(paths, 1);
  EXPECT_FALSE(store::exists(file(0)) || store::exists(file(10)));
  EXPECT_TRUE(store::exists(file(1)));
  remove_waiting_results(paths);
  EXPECT_FALSE(store::exists(file(1)));
  EXPECT_TRUE(store::exists(paths.checkpoints() / "9.0.h5"));
}

}  // namespace
}  // namespace skyline::store

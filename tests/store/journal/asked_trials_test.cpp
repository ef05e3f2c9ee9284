#include "store/journal/asked_trials.hpp"

#include "store/fixtures/sample_run.hpp"
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
using skyline::testing::sample_header;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AskedTrialsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(paths.checkpoints());
    for (const trial::CommittedTrial& one : trials) {
      if (!one.trial.is_final()) asked.push_back(one.trial);
    }
    write_asked_trials(paths, sample_header(), asked, space);
  }
  AskedTrials read(const JournalHeader& header = sample_header()) {
    ::testing::internal::CaptureStderr();
    AskedTrials found = read_asked_trials(paths, header, space, {});
    warnings = ::testing::internal::GetCapturedStderr();
    return found;
  }

  skyline::testing::ScratchFolder folder;
  RunPaths paths{folder / "run"};
  space::SearchSpace space = skyline::testing::sample_space();
  std::vector<trial::CommittedTrial> trials = skyline::testing::sample_trials(space, 8);
  std::vector<trial::Trial> asked;
  std::string warnings;
};

TEST_F(AskedTrialsFile, ComesBackAsItWasWritten) {
  const AskedTrials found = read();
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_EQ(found.size(), asked.size());
  for (const trial::Trial& one : asked) {
    const trial::Proposal& proposal = found.at(one.number);
    EXPECT_EQ(proposal.architecture->id, one.architecture().id);
    EXPECT_EQ(proposal.origin, one.proposal.origin);
    EXPECT_EQ(proposal.parents, one.proposal.parents);
    EXPECT_EQ(proposal.budget, one.budget());
    EXPECT_EQ(proposal.expected, one.proposal.expected);
  }
}

TEST_F(AskedTrialsFile, IsSkippedWithAWarningIfAnotherRunWroteIt) {
  JournalHeader other = sample_header();
  other.config_hash = "another";
  EXPECT_THAT(read(other), IsEmpty());
  EXPECT_THAT(warnings, HasSubstr("asked.jsonl: results of another run"));
}

TEST_F(AskedTrialsFile, LosesADamagedLineAlone) {
  std::string text = read_file(paths.checkpoints() / "asked.jsonl");
  text[text.find('\n') + 8] ^= 1;
  overwrite(paths.checkpoints() / "asked.jsonl", text);
  EXPECT_EQ(read().size(), asked.size() - 1);
  EXPECT_THAT(warnings, HasSubstr("asked.jsonl: line 2: checksum does not match"));
}

TEST_F(AskedTrialsFile, MayBeMissing) {
  remove_asked_trials(paths);
  remove_asked_trials(paths);
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_THAT(warnings, IsEmpty());
}

}  // namespace
}  // namespace skyline::store

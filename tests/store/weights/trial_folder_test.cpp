#include "store/weights/trial_folder.hpp"

#include "skyline/core/error.hpp"

#include "support/scratch_folder.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchFolder;
using ::testing::ThrowsMessage;

constexpr trial::TrialName kTrial{17};

class TrialFolder : public ::testing::Test {
 protected:
  TrialFolder() { fs::create_directory(paths_.trials()); }

  BegunFolder begin(const std::string& provenance = "a trial", std::uint32_t losses = 0,
                    const fs::path& source = {}) const {
    auto begun = begin_folder(paths_, kTrial, provenance, losses, source, [] { return false; });
    if (!begun) throw InternalError("it was not asked to stop");
    return *std::move(begun);
  }
  static void write(const BegunFolder& folder, const std::string& text) {
    std::ofstream(folder.path / "state") << text;
  }
  static std::string state_in(const fs::path& folder) {
    std::ifstream stream(folder / "state");
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string published() const { return find_published_folder(paths_, kTrial).path; }

  const ScratchFolder scratch_;
  const RunPaths paths_{scratch_.path()};
};

TEST_F(TrialFolder, IsTheSameForAllAttemptsAndNobodyElseCanEnterIt) {
  const BegunFolder first = begin();
  EXPECT_EQ(first.path.parent_path(), paths_.trials() / "17");
  EXPECT_EQ(fs::status(first.path.parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(first.path).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_empty(first.path));
  write(first, "half");
  const BegunFolder second = begin();
  EXPECT_EQ(second.path, first.path);
  EXPECT_EQ(state_in(second.path), "half");
}

TEST_F(TrialFolder, IsEmptyForATrialThatHasBecomeAnotherOne) {
  write(begin("rate 0.1"), "of 0.1");
  const BegunFolder other = begin("rate 0.2");
  EXPECT_TRUE(fs::is_empty(other.path));
  EXPECT_TRUE(fs::is_empty(begin("rate 0.1").path)) << "nothing is left of the first one";
}

TEST_F(TrialFolder, IsFoundByOthersWhenItIsPublishedAndNotBefore) {
  const BegunFolder folder = begin();
  write(folder, "whole");
  EXPECT_THAT(published(), IsEmpty());
  EXPECT_TRUE(find_published_folder(paths_, kTrial).is_transient);
  EXPECT_THAT(trials_with_folders(paths_, false), ElementsAre(kTrial));
  publish_folder(paths_, kTrial, folder);
  EXPECT_EQ(published(), folder.path);
  EXPECT_THAT(trials_with_folders(paths_, true), ElementsAre(kTrial));
  EXPECT_THAT(trials_with_folders(paths_, false), IsEmpty());
  begin();
  EXPECT_THAT(published(), IsEmpty()) << "it will change";
  EXPECT_EQ(state_in(folder.path), "whole");
}

TEST_F(TrialFolder, MovesAwayFromAProgramWhoseRankIsLost) {
  const BegunFolder lost = begin();
  write(lost, "before the loss");
  const BegunFolder next = begin("a trial", 1);
  EXPECT_NE(next.path, lost.path);
  EXPECT_EQ(state_in(next.path), "before the loss");
  fs::create_directory(lost.path);  // folder of the program, which still runs
  EXPECT_FALSE(is_in_place(lost));
  EXPECT_TRUE(is_in_place(next));
  EXPECT_THAT([&] { publish_folder(paths_, kTrial, lost); },
              ThrowsMessage<UserError>(HasSubstr("another one is in its place")));
  publish_folder(paths_, kTrial, next);
  EXPECT_EQ(published(), next.path);
  const BegunFolder of_next_job = begin();
  EXPECT_EQ(of_next_job.path, lost.path);
  EXPECT_EQ(state_in(of_next_job.path), "before the loss");
}

TEST_F(TrialFolder, BeginsWithACopyOfAnotherOneAndLeavesThatAsItIs) {
  const fs::path source = scratch_ / "source";
  fs::create_directory(source);
  std::ofstream(source / "state") << "of the source";
  const BegunFolder first = begin("a trial", 0, source);
  EXPECT_EQ(state_in(first.path), "of the source");
  write(first, "further");
  EXPECT_EQ(state_in(source), "of the source");
  EXPECT_EQ(state_in(begin("a trial", 0, source).path), "further") << "its own state is newer";
}

TEST_F(TrialFolder, ThatWasHalfCopiedIsCopiedAnew) {
  const fs::path source = scratch_ / "source";
  fs::create_directory(source);
  std::ofstream(source / "state") << "of the source";
  int asked = 0;
  EXPECT_FALSE(begin_folder(paths_, kTrial, "a trial", 0, source, [&] { return ++asked > 1; }));
  EXPECT_FALSE(fs::is_empty(paths_.trials() / "17")) << "the copy began";
  EXPECT_EQ(state_in(begin("a trial", 0, source).path), "of the source");
}

TEST_F(TrialFolder, IsRemovedWithEverythingOfItsTrialButNothingElse) {
  fs::create_directory(scratch_ / "outside");
  const BegunFolder folder = begin();
  fs::create_directory_symlink(scratch_ / "outside", folder.path / "link");
  publish_folder(paths_, kTrial, folder);
  EXPECT_TRUE(remove_folders(paths_, kTrial));
  EXPECT_TRUE(fs::is_empty(paths_.trials()));
  EXPECT_TRUE(fs::exists(scratch_ / "outside"));
  EXPECT_TRUE(remove_folders(paths_, kTrial)) << "there is none";
}

TEST_F(TrialFolder, WhoseRemovalWasKilledBeginsEmpty) {
  const BegunFolder folder = begin();
  for (int file = 0; file < 1500; ++file) std::ofstream(folder.path / std::to_string(file)) << "x";
  EXPECT_FALSE(remove_folders(paths_, kTrial)) << "a portion";
  EXPECT_TRUE(fs::is_empty(begin().path));
  EXPECT_TRUE(remove_folders(paths_, kTrial));
}

TEST_F(TrialFolder, IsNeverSoughtBehindALink) {
  fs::create_directory(scratch_ / "outside");
  std::ofstream(scratch_ / "outside/done") << "0123abcd";
  fs::create_directory_symlink(scratch_ / "outside", paths_.trials() / "17");
  EXPECT_THROW(begin(), UserError);
  EXPECT_TRUE(remove_folders(paths_, kTrial));
  EXPECT_TRUE(fs::exists(scratch_ / "outside/done"));
  write(begin(), "x");
  for (const char* const name : {"", "..", "../../outside", ".", "missing"}) {
    std::ofstream(paths_.trials() / "17/done") << name;
    EXPECT_THAT(published(), IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace skyline::store

#include "store/run_folder/run_folder.hpp"

#include "core/system/process.hpp"
#include "store/journal/learning_curves.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/file_claim.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::start_child;
using skyline::testing::user_error_of;
using skyline::testing::wait_for_child;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

/// A claim that is never given back: that of a process which is killed.
void keep_for_ever(std::unique_ptr<RunClaim> claim) {
  [[maybe_unused]] const RunClaim* kept = claim.release();
}

class Claim : public ::testing::Test {
 protected:
  /// Sets the heartbeat this many seconds back.
  void age(int seconds) const {
    const timespec time{::time(nullptr) - seconds, 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, paths.owner().c_str(), times, 0), 0);
  }
  /// Changes what owner.json says.
  template <typename Change>
  void edit(Change change) const {
    auto json = nlohmann::json::parse(read_file(paths.owner()));
    change(json);
    overwrite(paths.owner(), json.dump());
  }
  std::string acquire_error() const {
    return user_error_of([&] { RunClaim::acquire(paths); });
  }
  /// Leaves the claim of a process that ended without giving it back.
  void leave_claim_of_a_dead_process() const {
    wait_for_child(start_child([&] { keep_for_ever(RunClaim::acquire(paths)); }));
    ASSERT_TRUE(std::filesystem::exists(paths.owner()));
  }

  ScratchFolder folder;
  RunPaths paths{folder / "runs/mnist"};
};

TEST_F(Claim, MakesTheFoldersAndIsGivenBack) {
  {
    const auto claim = RunClaim::acquire(paths);
    EXPECT_TRUE(std::filesystem::is_directory(paths.root / "weights"));
    EXPECT_TRUE(std::filesystem::is_directory(paths.root / "logs"));
    EXPECT_TRUE(std::filesystem::is_directory(paths.checkpoints()));
    EXPECT_EQ(nlohmann::json::parse(read_file(paths.owner()))["pid"], ::getpid());
  }
  EXPECT_FALSE(std::filesystem::exists(paths.owner()));
  RunClaim::acquire(paths);
}

TEST_F(Claim, ASecondOneOnTheFolderIsRefused) {
  const auto claim = acquire_file_claim(paths, 0);
  EXPECT_THAT(acquire_error(),
              MatchesRegex(paths.root.string() + " is in use by process " + std::to_string(::getpid()) +
                           " on host .+, heartbeat [0-9]+ s ago \\(end that run first, or choose "
                           "another --run folder\\)"));
  claim->renew();
}

TEST_F(Claim, IsRefusedWhileAnotherProcessHoldsTheFolder) {
  const pid_t child = start_child([&] {
    const auto claim = RunClaim::acquire(paths);
    ::pause();
  });
  while (!std::filesystem::exists(paths.owner())) std::this_thread::yield();
  EXPECT_THAT(acquire_error(),
              StartsWith(paths.root.string() + " is in use by process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  // Until it is waited for, the process is a zombie: gone, as far as we are concerned.
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  const auto claim = RunClaim::acquire(paths);
  wait_for_child(child);
  EXPECT_EQ(nlohmann::json::parse(read_file(paths.owner()))["pid"], ::getpid());
}

TEST_F(Claim, OfADeadProcessIsTakenOverAndTold) {
  leave_claim_of_a_dead_process();
  ::testing::internal::CaptureStderr();
  const auto claim = acquire_file_claim(paths, 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("taken over from process"));
  claim->renew();
}

TEST_F(Claim, OfAReusedProcessIdIsTakenOver) {
  leave_claim_of_a_dead_process();
  edit([](auto& json) { json["pid"] = ::getppid(); });
  RunClaim::acquire(paths);
}

TEST_F(Claim, OfAnotherHostLivesByItsHeartbeat) {
  leave_claim_of_a_dead_process();
  edit([](auto& json) {
    json["host"] = "node07";
    json["place"] = "node07 boot";
    json["pid"] = 123;
  });
  age(20);
  EXPECT_THAT(acquire_error(),
              MatchesRegex(".* is in use by process 123 on host node07, heartbeat [2-5][0-9] s ago .*"));
  age(62);
  RunClaim::acquire(paths);
}

TEST_F(Claim, ThatIsUnreadableLivesByItsHeartbeat) {
  std::filesystem::create_directories(paths.root);
  overwrite(paths.owner(), "{\"host\": ");
  EXPECT_THAT(acquire_error(),
              HasSubstr("is in use by an unknown process (its owner.json is damaged), heartbeat "));
  age(62);
  RunClaim::acquire(paths);
}

TEST_F(Claim, OfSeveralProcessesOneTakesAStaleFolderOver) {
  leave_claim_of_a_dead_process();
  const ScratchFolder lost;  // a file of each that was refused: the owner lives until then
  std::vector<pid_t> children(6);
  for (pid_t& child : children) {
    child = start_child([&] {
      std::string error = user_error_of([&] {
        keep_for_ever(RunClaim::acquire(paths));
        for (int look = 0; look < 60'000 && lost.num_entries() + 1 < children.size(); ++look) ::usleep(1000);
      });
      if (error.find("in use by") != std::string::npos ||
          error.find("taking this folder") != std::string::npos) {
        overwrite(lost / std::to_string(::getpid()), "");
        ::_exit(7);
      }
    });
  }
  int owners = 0;
  for (const pid_t child : children) owners += WEXITSTATUS(wait_for_child(child)) == 0 ? 1 : 0;
  EXPECT_EQ(owners, 1);
}

TEST_F(Claim, LeavesAClaimOfSomebodyElseAlone) {
  auto claim = RunClaim::acquire(paths);
  edit([](auto& json) { json["token"] = "other"; });
  claim.reset();
  EXPECT_TRUE(std::filesystem::exists(paths.owner()));
}

TEST_F(Claim, AFileInThePlaceOfTheFolderIsAnError) {
  overwrite(folder / "runs", "");
  EXPECT_EQ(acquire_error(), "cannot make the folder " + paths.root.string() + ": Not a directory");
}

TEST_F(Claim, AnUnwritableFolderIsAnError) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const std::string message = skyline::testing::text_of_unprivileged_child([&] { return acquire_error(); });
  EXPECT_EQ(message,
            "cannot make the folder " + paths.root.string() +
                ": Permission denied (choose a place that you may write to, or change its permissions)");
}

TEST_F(Claim, AnUnwritableRunFolderIsAnError) {
  RunClaim::acquire(paths);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(paths.root, std::filesystem::perms(0555));
  const std::string message = skyline::testing::text_of_unprivileged_child([&] { return acquire_error(); });
  EXPECT_EQ(message,
            "cannot write " + paths.owner().string() +
                ": Permission denied (choose a place that you may write to, or change its permissions)");
}

TEST_F(Claim, RenewsItsHeartbeatByAThreadOfItsOwn) {
  const auto claim = keep_claim(acquire_file_claim(paths, 0.01), 0.01);
  age(30);
  while (read_owner(paths)->heartbeat_age_s > 5) std::this_thread::yield();
  EXPECT_NO_THROW(claim->check());
}

TEST_F(Claim, ThatIsLostIsToldByTheNextCheck) {
  const auto claim = keep_claim(acquire_file_claim(paths, 0.01), 0.01);
  overwrite(paths.root / "other", "{}");
  std::filesystem::rename(paths.root / "other", paths.owner());
  const auto told = [&] { return user_error_of([&] { claim->check(); }); };
  while (told().find("was taken over by ") == std::string::npos) std::this_thread::yield();
}

TEST_F(Claim, SaysSoWhenAnotherJobHasTakenTheFolderOver) {
  const auto claim = acquire_file_claim(paths, 0);
  edit([](auto& json) {
    json["token"] = "other";
    json["pid"] = 321;
    json["host"] = "node08";
  });
  EXPECT_EQ(user_error_of([&] { claim->renew(); }),
            paths.root.string() +
                " was taken over by process 321 on host node08 (this job stood still for too long)");
}

TEST_F(Claim, IsMadeAgainWhenItsFileWasRemoved) {
  const auto claim = acquire_file_claim(paths, 0);
  std::filesystem::remove(paths.owner());
  claim->renew();
  EXPECT_THAT(acquire_error(), HasSubstr("is in use by process " + std::to_string(::getpid())));
}

TEST_F(Claim, IsNotMadeAgainIfAnotherJobMayHaveComeAndGone) {
  const auto claim = acquire_file_claim(paths, 0);
  age(70);  // another host may take over
  claim->renew();
  std::filesystem::remove(paths.owner());
  EXPECT_EQ(
      fault_error_of([&] { claim->renew(); }),
      paths.root.string() +
          ": owner.json is gone, and this job stood still for so long that another one may have taken the "
          "run over and ended; this one ends (resume with --resume)");
  EXPECT_FALSE(std::filesystem::exists(paths.owner()));
}

TEST_F(Claim, RefusesAFolderOfTheRunThatLeadsElsewhere) {
  std::filesystem::create_directories(folder / "elsewhere");
  overwrite(folder / "elsewhere/3.h5.tmp.x.1.0", "keep");
  for (const std::filesystem::path& part : paths.folders()) {
    std::filesystem::create_directories(paths.root);
    std::filesystem::create_symlink(folder / "elsewhere", part);
    EXPECT_THAT(acquire_error(), StartsWith(part.string() + ": expected a folder, found a symbolic link"));
    std::filesystem::remove(part);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "elsewhere"), {}), 1);
}

TEST_F(Claim, NothingIsWrittenOrRemovedWhereAnotherFolderTookThePlaceOfTheRun) {
  const auto claim = acquire_file_claim(paths, 0);
  const std::filesystem::path moved = paths.root.string() + ".moved";
  const ScratchFolder other;
  for (const auto& [name, place] : {std::pair{paths.root, other.path()},
                                    {paths.courses(), other.path()},
                                    {paths.weights_folder(), other / "empty"}}) {
    std::filesystem::create_directories(other / "weights");
    std::filesystem::create_directories(other / "courses");
    std::filesystem::create_directories(other / "empty");
    publish_file(other / "weights/0.h5", "of another run");
    std::filesystem::rename(name, moved);
    std::filesystem::create_directory_symlink(place, name);
    const auto refusal = HasSubstr(name.string() + ": another folder has taken its place");
    if (name == paths.root) {
      EXPECT_THAT(user_error_of([&] { publish_file(paths.status_json(), "ours"); }), refusal);
      EXPECT_THAT(user_error_of([&] { claim->renew(); }), refusal);
    }
    if (name != paths.courses()) {
      EXPECT_THAT(user_error_of([&] { publish_file(paths.weights_folder() / "0.h5", "ours"); }), refusal);
      EXPECT_THAT(user_error_of([&] { remove_file(paths.weights_folder() / "0.h5"); }), refusal);
    } else {
      EXPECT_THAT(user_error_of([&] { append_course(paths, 0, {}, {}); }), refusal);
    }
    std::filesystem::remove(name);
    std::filesystem::rename(moved, name);
    publish_file(paths.weights_folder() / "0.h5", "ours");
    EXPECT_EQ(read_file(other / "weights/0.h5"), "of another run");
    EXPECT_FALSE(std::filesystem::exists(other / "owner.json"));
    EXPECT_TRUE(std::filesystem::is_empty(other / "courses"));
  }
}

TEST_F(Claim, TakesARunFolderThatTheUserReachesByALink) {
  std::filesystem::create_directories(folder / "scratch");
  std::filesystem::create_directories(folder / "runs");
  std::filesystem::create_symlink(folder / "scratch", paths.root);
  const auto claim = RunClaim::acquire(paths);
  EXPECT_TRUE(std::filesystem::exists(folder / "scratch/owner.json"));
}

TEST_F(Claim, WarnsOfAFolderOfAnotherUserAndOfNoOther) {
  std::filesystem::create_directories(paths.courses());
  const bool is_given_away = ::chown(paths.courses().c_str(), 65534, 65534) == 0;
  EXPECT_EQ(is_given_away, ::geteuid() == 0) << "only root can";
  ::testing::internal::CaptureStderr();
  const auto claim = acquire_file_claim(paths, 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  const bool is_told = said.find(paths.courses().string() + ": belongs to another user") != std::string::npos;
  EXPECT_EQ(is_told, is_given_away) << said;
}

/// Another user where /proc shows only one's own processes, as on many clusters. Who may not mount it so sees
/// the process.
TEST_F(Claim, OfALiveProcessThatProcHidesIsRespected) {
  const auto claim = acquire_file_claim(paths, 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const auto hidden = [&] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("proc", "/proc", "proc", 0, "hidepid=2,gid=65533") == 0;
  };
  const pid_t child = start_child([&] {
    const std::string expected = hidden() ? "hidden active" : "seen active";
    const std::string found = skyline::testing::text_of_unprivileged_child([&] {
      const std::optional<RunOwner> owner = read_owner(paths);
      const bool seen = std::filesystem::exists("/proc/" + std::to_string(::getppid()));
      return std::string(seen ? "seen " : "hidden ") + (owner && owner->active ? "active" : "gone");
    });
    ::_exit(found == expected ? 0 : 1);
  });
  EXPECT_EQ(WEXITSTATUS(wait_for_child(child)), 0);
}

TEST_F(Claim, OnACopyOfALiveRunsFolderIsTakenAtOnce) {
  const auto claim = acquire_file_claim(paths, 0);
  const RunPaths copy{folder / "runs/copy"};
  std::filesystem::copy(paths.root, copy.root, std::filesystem::copy_options::recursive);
  ::testing::internal::CaptureStderr();
  const auto of_copy = acquire_file_claim(copy, 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr(copy.root.string() + ": a copy of " + paths.root.string() + ", where process " +
                        std::to_string(::getpid()) + " works"));
  claim->renew();
  of_copy->renew();
}

TEST_F(Claim, OnACopyOfARunOfAnotherHostIsTakenAtOnceWhereTheOriginalIsSeen) {
  const auto claim = acquire_file_claim(paths, 0);
  edit([](auto& json) { json["place"] = "another host"; });
  const RunPaths copy{folder / "runs/copy"};
  std::filesystem::copy(paths.root, copy.root, std::filesystem::copy_options::recursive);
  EXPECT_THAT(acquire_error(), HasSubstr("is in use by process "));
  const auto of_copy = acquire_file_claim(copy, 0);
  of_copy->renew();
}

TEST_F(Claim, OfALiveRunThatWasMovedIsRespected) {
  const auto claim = acquire_file_claim(paths, 0);
  const std::filesystem::path moved = folder / "runs/moved";
  std::filesystem::rename(paths.root, moved);
  paths.root = moved;
  EXPECT_THAT(acquire_error(), HasSubstr("is in use by process "));
  EXPECT_TRUE(read_owner(paths)->active);
}

TEST_F(Claim, OfALiveRunWhoseFolderIsGoneIsRespectedInACopy) {
  const auto claim = acquire_file_claim(paths, 0);
  const std::filesystem::path root = paths.root;
  paths.root = folder / "runs/copy";
  std::filesystem::copy(root, paths.root, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(root);
  EXPECT_THAT(acquire_error(), HasSubstr("is in use by process "));
}

/// Some file systems in user space show the same files under other inode numbers. Here the files that a claim
/// looks for are made in both folders.
TEST_F(Claim, OfALiveRunIsRespectedWhereItsFolderIsMountedInAnotherWay) {
  const auto claim = acquire_file_claim(paths, 0);
  const std::filesystem::path root = paths.root;
  paths.root = folder / "mounted";
  std::filesystem::copy(root, paths.root, std::filesystem::copy_options::recursive);
  std::filesystem::remove(paths.owner());
  std::filesystem::create_hard_link(root / "owner.json", paths.owner());
  EXPECT_TRUE(read_owner(paths)->active);
  for (int i = 0; i < 10'000; ++i) {  // one of these names is that of the next temporary file
    std::filesystem::create_hard_link(
        root / "owner.json", root / ("owner.json.tmp." + host_name() + "." + std::to_string(::getpid()) +
                                     "." + std::to_string(i)));
  }
  EXPECT_THAT(acquire_error(), HasSubstr("is in use by process "));
}

TEST_F(Claim, OfAnOlderProgramIsRespectedInACopy) {
  const auto claim = acquire_file_claim(paths, 0);
  edit([](auto& json) {
    json.erase("inode");
    json.erase("folder");
  });
  const std::filesystem::path root = paths.root;
  paths.root = folder / "runs/copy";
  std::filesystem::copy(root, paths.root, std::filesystem::copy_options::recursive);
  EXPECT_THAT(acquire_error(), HasSubstr("is in use by process "));
}

TEST_F(Claim, OfACopyIsShownAsGoneOnceTheOriginalHasHadAHeartbeat) {
  const auto claim = acquire_file_claim(paths, 0);
  const RunPaths copy{folder / "runs/copy"};
  std::filesystem::copy(paths.root, copy.root, std::filesystem::copy_options::recursive);
  age(30);
  EXPECT_TRUE(read_owner(copy)->active);
  claim->renew();
  EXPECT_TRUE(read_owner(paths)->active);
  const timespec before[2] = {{::time(nullptr) - 5, 0}, {::time(nullptr) - 5, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, copy.owner().c_str(), before, 0), 0);
  EXPECT_FALSE(read_owner(copy)->active);
}

TEST_F(Claim, IsShownToThoseWhoOnlyLook) {
  EXPECT_FALSE(read_owner(paths).has_value());
  leave_claim_of_a_dead_process();
  age(30);
  std::optional<RunOwner> owner = read_owner(paths);
  ASSERT_TRUE(owner.has_value());
  EXPECT_FALSE(owner->active);
  EXPECT_NEAR(owner->heartbeat_age_s, 30, 3);
  const auto claim = RunClaim::acquire(paths);
  owner = read_owner(paths);
  EXPECT_TRUE(owner->active);
  EXPECT_EQ(owner->process, ::getpid());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(paths.root), {}), 6);
}

}  // namespace
}  // namespace skyline::store

#include "store/data/staged_dataset.hpp"

#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "store/data/stage_copy.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/folder_check.hpp"
#include "store/publish/publish.hpp"

#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kUnusedAge_s = 7 * 24 * 3600;
constexpr int kMostRounds = 100;  // each round but the last was lost to another job

/// Takes the turn: the right of one job at a time to change the folder. The system returns it when the
/// process ends. Where locks don't work, every job gets it; two jobs that copy at once only lose time,
/// because each publishes whole files. Returns null if another job has the turn.
FileDescriptor try_turn(const fs::path& stage) {
  FileDescriptor turn = open_file(stage, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!turn) fail_system("read the folder", stage, "", errno);
  int refused = 0;
  do {
    refused = ::flock(turn.get(), LOCK_EX | LOCK_NB);
  } while (refused != 0 && errno == EINTR);
  return refused != 0 && errno == EWOULDBLOCK ? FileDescriptor() : std::move(turn);
}

/// Waits for the turn. Returns null if it was stopped.
FileDescriptor take_turn(const fs::path& stage, const StagingOptions& options) {
  SlowReport report(options.report_after_s);
  while (!options.stop_requested()) {
    if (FileDescriptor turn = try_turn(stage)) return turn;
    if (report.is_due()) log::info("waiting for another job of this node that copies to " + stage.string());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

/// The file that has the name of a copy. As long as this object lives, no other file can be taken for it,
/// because an open file keeps its inode number.
class FoundFile {
 public:
  explicit FoundFile(const fs::path& path) : path_(path), file_(open_file(path, O_PATH | O_NOFOLLOW)) {
    if (!file_ && errno != ENOENT) fail_system("read", path, "", errno);
    if (file_ && ::fstat(file_.get(), &status_) != 0) fail_system("read", path, "", errno);
  }
  bool is_something() const { return static_cast<bool>(file_); }
  bool is_own_file() const { return S_ISREG(status_.st_mode) && status_.st_uid == ::geteuid(); }
  /// Returns whether the name still leads to the same file.
  bool is_still_there() const {
    struct stat now {};
    if (::lstat(path_.c_str(), &now) != 0) return !file_ && errno == ENOENT;
    return file_ && now.st_dev == status_.st_dev && now.st_ino == status_.st_ino;
  }

 private:
  fs::path path_;
  FileDescriptor file_;
  struct stat status_ {};
};

enum class Soundness { kSound, kFaulty, kStopped };
struct CopyCheck {
  Soundness soundness = Soundness::kSound;
  std::string fault;
};

/// Checks a copy. It first marks the copy as used, so that nobody removes it meanwhile.
CopyCheck check_copy(const FoundFile& found, const fs::path& copy, const std::string& content_hash,
                     const StagingOptions& options) {
  if (!found.is_something()) return {Soundness::kFaulty, "is gone"};
  if (!found.is_own_file()) return {Soundness::kFaulty, "not a file of this user"};
  ::utimensat(AT_FDCWD, copy.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  try {
    const auto dataset = Dataset::open(copy, true, options.stop_requested);
    if (dataset == nullptr) return {Soundness::kStopped, {}};
    if (dataset->content_hash() != content_hash) return {Soundness::kFaulty, "not the data of its name"};
    return {};
  } catch (const Problem& error) {
    return {Soundness::kFaulty, error.what()};
  }
}

/// Removes copies that nobody has used for long. Needs the turn. A job that reads one has it mapped.
void remove_unused_copies(const fs::path& stage) {
  for (const fs::path& path : list_folder(stage)) {
    struct stat status {};
    // FILE.h5.seal belongs to FILE.h5
    const bool is_copy = path.extension() == ".h5" || path.extension() == ".seal";
    if (!is_copy || ::lstat(path.c_str(), &status) != 0) continue;
    if (std::time(nullptr) - status.st_mtime > kUnusedAge_s) ::unlink(path.c_str());
  }
}

/// Removes a damaged copy. Needs the turn.
void remove_faulty(const fs::path& source, const fs::path& copy, const std::string& fault) {
  log::warning("making the copy " + copy.string() + " again: " + fault);
  if (::unlink(copy.c_str()) == 0 || errno == ENOENT) return;
  fail_staging(source, copy.parent_path(),
               "what lies at " + copy.string() + " cannot be used (" + fault +
                   ") and not be removed: " + system_error_text(errno));
}

/// Makes the copy. Needs the turn, and a free name.
std::optional<StagedDataset> copy_in_turn(const fs::path& source, const std::string& content_hash,
                                          StagedDataset staged, const StagingOptions& options) {
  const fs::path stage = staged.path.parent_path();
  remove_temporaries(stage);
  check_room(source, staged.bytes, stage);
  const auto start = std::chrono::steady_clock::now();
  if (!make_copy(source, staged.path, options)) return std::nullopt;
  staged.copy_s = seconds_since(start);
  const CopyCheck check = check_copy(FoundFile(staged.path), staged.path, content_hash, options);
  if (check.soundness == Soundness::kStopped) return std::nullopt;  // the next job checks the existing copy
  if (check.soundness == Soundness::kSound) return staged;
  ::unlink(staged.path.c_str());
  fail_staging(source, stage, check.fault + "; see with `skyline validate` whether the original is sound");
}

fs::path stage_in(const fs::path& folder) {
  return folder / ("skyline-" + std::to_string(::geteuid()));
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error) fail_system("read", file, "", error.value());
  return bytes;
}

}  // namespace

fs::path make_stage(const fs::path& folder) {
  const fs::path stage = stage_in(folder);
  if (const auto objection = make_private_folder(stage)) {
    throw UserError("cannot keep copies of data in " + stage.string() + " on " + host_name() + ": " +
                    *objection + " (name another folder by data.stage, or leave that out)");
  }
  return stage;
}

fs::path staged_path(const fs::path& folder, const std::string& content_hash) {
  return stage_in(folder) / (content_hash + ".h5");
}

std::uint64_t staging_bytes(const fs::path& source) {
  return size_of(source) + kSpareBytes;
}

std::optional<StagedDataset> stage_dataset(const fs::path& source, const fs::path& folder,
                                           const StagingOptions& options) {
  const std::string content_hash = Dataset::open(source, false)->content_hash();
  const fs::path stage = make_stage(folder);
  StagedDataset staged{staged_path(folder, content_hash), size_of(source), std::nullopt};
  for (int round = 0; round < kMostRounds; ++round) {
    // Copies are checked without the turn, so that jobs that start together check together.
    const FoundFile found(staged.path);
    const CopyCheck check = check_copy(found, staged.path, content_hash, options);
    if (check.soundness == Soundness::kStopped) return std::nullopt;
    const bool sound = check.soundness == Soundness::kSound;
    const FileDescriptor turn = sound ? try_turn(stage) : take_turn(stage, options);
    if (!sound && !turn) return std::nullopt;
    if (!found.is_still_there()) continue;  // another job has made, removed or replaced it
    if (turn) remove_unused_copies(stage);
    if (sound) return staged;
    if (found.is_something()) remove_faulty(source, staged.path, check.fault);
    return copy_in_turn(source, content_hash, std::move(staged), options);
  }
  fail_staging(source, stage, "other jobs replace it again and again");
}

}  // namespace skyline::store

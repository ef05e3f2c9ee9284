#include "store/data/staged_dataset.hpp"

#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/folder_check.hpp"
#include "store/publish/publish.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kUnusedAge_s = 7 * 24 * 3600;
constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;  // left free: others use the disk too
constexpr std::size_t kPieceBytes = std::size_t{8} << 20;       // file servers are fastest for large reads
constexpr const char* kAdvice = " (free some space, name another folder by data.stage, or leave that out)";
constexpr Fault kCopyStopped{"", ECANCELED};  // our own calls never fail with this error

/// Returns e.g. "55.2 MB", "150.0 GB".
std::string size_text(std::uint64_t bytes) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), megabytes < 1e4 ? "%.1f MB" : "%.1f GB",
                megabytes < 1e4 ? megabytes : megabytes / 1e3);
  return text.data();
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error) fail_system("read", file, "", error.value());
  return bytes;
}

/// Waits until no other job copies to the folder; the right to copy ends with the process. Where locks don't
/// work, jobs may copy at once, which only loses time: each publishes whole files. Returns null if it was
/// stopped.
FileDescriptor acquire(const fs::path& stage, const StagingOptions& options) {
  FileDescriptor turn = open_file(stage, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!turn) fail_system("read the folder", stage, "", errno);
  const auto start = std::chrono::steady_clock::now();
  for (bool is_told = false; !options.stop_requested();) {
    if (::flock(turn.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return turn;
    if (!is_told && seconds_since(start) >= options.report_after_s) {
      log::info("waiting for another job of this node that copies to " + stage.string());
      is_told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

/// Removes copies that nobody has used for long. A job that reads one has it mapped.
void remove_unused_copies(const fs::path& stage) {
  for (const fs::path& path : list_folder(stage)) {
    struct stat status {};
    // FILE.h5.seal belongs to FILE.h5
    const bool is_copy = path.extension() == ".h5" || path.extension() == ".seal";
    if (!is_copy || ::lstat(path.c_str(), &status) != 0) continue;
    if (std::time(nullptr) - status.st_mtime > kUnusedAge_s) ::unlink(path.c_str());
  }
}

enum class CopyState { kSound, kMissing, kFaulty, kStopped };

/// The copy of one data set on this node.
class StagedCopy {
 public:
  StagedCopy(const fs::path& source, fs::path copy, const StagingOptions& options)
      : source_(source), copy_(std::move(copy)), stage_(copy_.parent_path()), options_(options) {}

  /// Checks the copy. It first marks the copy as used, so that no other job removes it meanwhile.
  CopyState check() {
    if (!store::exists(copy_)) return CopyState::kMissing;
    ::utimensat(AT_FDCWD, copy_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    try {
      const auto dataset = Dataset::open(copy_, true, options_.stop_requested);
      if (dataset == nullptr) return CopyState::kStopped;
      if (dataset->content_hash() == copy_.stem()) return CopyState::kSound;
      fault_ = "not the data of its name";
    } catch (const Problem& error) {
      fault_ = error.what();
    }
    return CopyState::kFaulty;
  }

  /// Makes the copy in a single attempt: waiting does not help against a full disk of the node, and all other
  /// nodes would wait too. Needs the turn. Returns false if it was stopped.
  bool make() const {
    if (!fault_.empty()) {
      log::warning("making the copy " + copy_.string() + " again: " + fault_);
      ::unlink(copy_.c_str());
    }
    remove_temporaries(stage_);
    if (fs::is_directory(copy_)) throw UserError(no_copy(copy_.string() + " is a folder" + kAdvice));
    const std::uint64_t bytes = size_of(source_);
    const std::uint64_t free_bytes = room_in(stage_).free_bytes;
    if (free_bytes < bytes + kSpareBytes) {
      throw UserError(no_copy("it needs " + size_text(bytes) + " and " + size_text(kSpareBytes) +
                              " to spare, and " + size_text(free_bytes) + " are free" + kAdvice));
    }
    const Fault fault = publish_once(copy_, [&](TemporaryFile& file) { return write(file); });
    if (fault.error == kCopyStopped.error) return false;
    if (!fault) return true;
    const std::string problem =
        no_copy(std::string(fault.call) + ": " + system_error_text(fault.error) + kAdvice);
    if (is_transient(fault.error)) throw FaultError(problem);
    throw UserError(problem);
  }

  /// Removes a copy that check() has found faulty as soon as it was made.
  [[noreturn]] void refuse() const {
    ::unlink(copy_.c_str());
    throw UserError(no_copy(fault_ + "; see with `skyline validate` whether the original is sound"));
  }

 private:
  std::string no_copy(const std::string& reason) const {
    return "cannot keep a copy of " + source_.string() + " in " + stage_.string() + " on " + host_name() +
           ": " + reason;
  }

  Fault write(TemporaryFile& copy) const {
    struct stat status {};
    const FileDescriptor original = open_regular_file(source_, status);
    if (!original) fail_system("read", source_, "", errno);
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    const auto start = std::chrono::steady_clock::now();
    double report_s = options_.report_after_s;
    std::vector<std::byte> piece(kPieceBytes);
    for (std::uint64_t done = 0; done < bytes;) {
      if (options_.stop_requested()) return kCopyStopped;
      ssize_t count = 0;
      patiently("read", source_, [&]() -> Fault {
        count = ::pread(original.get(), piece.data(), piece.size(), static_cast<off_t>(done));
        return {"read", count < 0 ? errno : 0};
      });
      if (count == 0) throw UserError(source_.string() + ": became shorter while it was copied");
      // Drops the piece from the page cache: the copy will be read again, the original will not.
      ::posix_fadvise(original.get(), static_cast<off_t>(done), count, POSIX_FADV_DONTNEED);
      const auto read = std::span(piece).first(static_cast<std::size_t>(count));
      if (const Fault fault = copy.write({read}, done)) return fault;
      done += read.size();
      if (seconds_since(start) < report_s) continue;
      report_s = 2 * seconds_since(start);
      log::info("copying " + source_.string() + " to " + stage_.string() + ": " + size_text(done) + " of " +
                size_text(bytes));
    }
    return {};
  }

  const fs::path& source_;
  const fs::path copy_;
  const fs::path stage_;
  const StagingOptions& options_;
  std::string fault_;  // why the copy cannot be used
};

fs::path stage_in(const fs::path& folder) {
  return folder / ("skyline-" + std::to_string(::geteuid()));
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

std::optional<double> stage_dataset(const fs::path& source, const fs::path& folder,
                                    const StagingOptions& options) {
  const std::string content_hash = Dataset::open(source, false)->content_hash();
  const fs::path stage = make_stage(folder);
  StagedCopy copy(source, staged_path(folder, content_hash), options);
  // A copy is checked without the turn, so that jobs that start together check together.
  CopyState state = copy.check();
  FileDescriptor turn;
  // A job that found this copy unused may have removed it before check() marked it.
  if (state == CopyState::kSound && !store::exists(staged_path(folder, content_hash)))
    state = CopyState::kMissing;
  if (state == CopyState::kMissing || state == CopyState::kFaulty) {
    turn = acquire(stage, options);
    if (!turn) return std::nullopt;
    state = copy.check();  // another job may have made it meanwhile
  }
  if (state == CopyState::kStopped) return std::nullopt;
  remove_unused_copies(stage);
  if (state == CopyState::kSound) return 0;
  const auto start = std::chrono::steady_clock::now();
  if (!copy.make()) return std::nullopt;
  const double copy_s = seconds_since(start);
  state = copy.check();
  if (state == CopyState::kStopped) return std::nullopt;  // the next job checks the existing copy
  if (state != CopyState::kSound) copy.refuse();
  return copy_s;
}

}  // namespace skyline::store

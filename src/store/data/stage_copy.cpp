#include "store/data/stage_copy.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <span>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = std::size_t{8} << 20;  // file servers are fastest for large reads
constexpr const char* kAdvice = " (free some space, name another folder by data.stage, or leave that out)";

/// Returns e.g. "55.2 MB", "150.0 GB".
std::string size_text(double bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), bytes < 1e10 ? "%.1f MB" : "%.1f GB",
                bytes / (bytes < 1e10 ? 1e6 : 1e9));
  return text.data();
}
std::string size_text(std::uint64_t bytes) {
  return size_text(static_cast<double>(bytes));
}

std::string no_copy(const fs::path& source, const fs::path& stage, const std::string& reason) {
  return "cannot keep a copy of " + source.string() + " in " + stage.string() + " on " + host_name() + ": " +
         reason;
}

/// The original, read from its start to its end.
class Original {
 public:
  explicit Original(const fs::path& path) : path_(path), piece_(kReadBytes) {
    struct stat status {};
    file_ = open_regular_file(path, status);
    if (!file_) fail_system("read", path, "", errno);
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  std::uint64_t bytes() const { return bytes_; }

  /// Returns the piece that begins at `offset`; valid until the next call.
  std::span<const std::byte> read(std::uint64_t offset) {
    ssize_t count = 0;
    patiently("read", path_, [&]() -> Fault {
      count = ::pread(file_.get(), piece_.data(), piece_.size(), static_cast<off_t>(offset));
      return {"read", count < 0 ? errno : 0};
    });
    if (count == 0) throw UserError(path_.string() + ": became shorter while it was copied");
    // Drops the piece from the page cache: the copy will be read again, the original will not.
    ::posix_fadvise(file_.get(), static_cast<off_t>(offset), count, POSIX_FADV_DONTNEED);
    return std::span(piece_).first(static_cast<std::size_t>(count));
  }

 private:
  const fs::path& path_;
  FileDescriptor file_;
  std::vector<std::byte> piece_;
  std::uint64_t bytes_ = 0;
};

constexpr Fault kCopyStopped{"", ECANCELED};  // our own calls never fail with this error

Fault write_copy(Original& original, TemporaryFile& copy, const std::string& task,
                 const StagingOptions& options) {
  SlowReport report(options.report_after_s);
  for (std::uint64_t done = 0; done < original.bytes();) {
    if (options.stop_requested()) return kCopyStopped;
    const std::span<const std::byte> piece = original.read(done);
    if (const Fault fault = copy.write({piece}, done)) return fault;
    done += piece.size();
    if (report.is_due()) {
      log::info(task + ": " + size_text(done) + " of " + size_text(original.bytes()) + ", " +
                size_text(static_cast<double>(done) / report.elapsed_s()) + "/s");
    }
  }
  return {};
}

}  // namespace

void fail_staging(const fs::path& source, const fs::path& stage, const std::string& reason) {
  throw UserError(no_copy(source, stage, reason));
}

void check_room(const fs::path& source, std::uint64_t bytes, const fs::path& stage) {
  struct statvfs space {};
  if (::statvfs(stage.c_str(), &space) != 0) fail_staging(source, stage, system_error_text(errno));
  const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (free_bytes >= bytes + kSpareBytes) return;
  fail_staging(source, stage,
               "it needs " + size_text(bytes) + " and " + size_text(kSpareBytes) + " to spare, and " +
                   size_text(free_bytes) + " are free" + kAdvice);
}

/// Makes the copy in a single attempt: waiting does not help against a full disk of the node, and all other
/// nodes would wait too. Returns false if it was stopped.
bool make_copy(const fs::path& source, const fs::path& copy, const StagingOptions& options) {
  Original original(source);
  const fs::path stage = copy.parent_path();
  const std::string task = "copying " + source.string() + " to " + stage.string();
  const Fault fault =
      publish_once(copy, [&](TemporaryFile& file) { return write_copy(original, file, task, options); });
  if (fault.error == kCopyStopped.error) return false;
  if (!fault) return true;
  const std::string reason =
      std::string(fault.call) + (fault.call.empty() ? "" : ": ") + system_error_text(fault.error) + kAdvice;
  if (may_pass(fault.error)) throw FaultError(no_copy(source, stage, reason));
  fail_staging(source, stage, reason);
}

}  // namespace skyline::store

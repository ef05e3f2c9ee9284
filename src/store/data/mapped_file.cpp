#include "store/data/mapped_file.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "store/hdf5/sealed_file.hpp"
#include "store/publish/retry_policy.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

/// The mappings of this process, for its handler of signals, which must not take a lock. Further files are
/// mapped too, but a fault in one of them is a crash.
struct WatchedRange {
  std::atomic<bool> taken = false;
  std::atomic<const std::byte*> begin = nullptr;
  std::atomic<const std::byte*> end = nullptr;
  std::atomic<const std::string*> last_words = nullptr;
};
std::array<WatchedRange, 16> watched_ranges;
struct sigaction earlier_handler {};

extern "C" void end_at_missing_bytes(int signal, siginfo_t* info, void* context) {
  const auto* const place = static_cast<const std::byte*>(info->si_addr);
  for (const WatchedRange& range : watched_ranges) {
    if (place < range.begin || place >= range.end) continue;
    static std::atomic_flag speaks;
    while (speaks.test_and_set()) ::pause();  // another thread prints the message and ends the process
    const std::string& line = *range.last_words;
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(written < 0 ? kExitFault : kExitUserError);
  }
  if ((earlier_handler.sa_flags & SA_SIGINFO) != 0)
    return earlier_handler.sa_sigaction(signal, info, context);
  ::sigaction(signal, &earlier_handler, nullptr);  // the instruction is tried again with the earlier handler
}

void watch_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = end_at_missing_bytes;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, &earlier_handler);
  });
}

void watch_range(std::span<const std::byte> bytes, const std::string& last_words) {
  watch_faults();
  for (WatchedRange& range : watched_ranges) {
    if (range.taken.exchange(true)) continue;
    range.last_words = &last_words;
    range.end = bytes.data() + bytes.size();
    range.begin = bytes.data();
    return;
  }
}

void forget_range(std::span<const std::byte> bytes) {
  for (WatchedRange& range : watched_ranges) {
    if (range.begin != bytes.data()) continue;
    range.begin = nullptr;
    range.end = nullptr;
    range.taken = false;
    return;
  }
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    : last_words_("skyline: " + path.string() +
                  ": was cut short while it was read: restore it, and run again with --resume\n") {
  const IoOperation operation("read", path);
  struct stat status {};
  file_ = open_regular_file(path, status);
  if (!file_) fail_system("read", path, "", errno);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* place = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (place == MAP_FAILED) fail_system("read", path, "mmap", errno);
  bytes_ = {static_cast<const std::byte*>(place), size};
  watch_range(bytes_, last_words_);
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  forget_range(bytes_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::Version MappedFile::version() const {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec};
}

void check_unchanged(const MappedFile& file, const Seal& seal, const std::filesystem::path& path,
                     MappedFile::Version& checked) {
  const MappedFile::Version now = file.version();
  if (now == checked) return;
  bool is_whole = now.bytes >= file.bytes().size();
  try {
    if (is_whole) check_arrays(file.bytes(), seal, path, [] { return false; });
  } catch (const UserError&) {
    is_whole = false;
  }
  if (!is_whole) {
    throw UserError(path.string() +
                    ": was overwritten during the run: restore it, and run again with --resume");
  }
  checked = now;
}

}  // namespace skyline::store

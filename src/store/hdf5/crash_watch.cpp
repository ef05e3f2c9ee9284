#include "store/hdf5/crash_watch.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include <atomic>
#include <cstdint>
#include <system_error>

#include <unistd.h>

namespace skyline::store {
namespace {

// Far more seconds of CPU than the library needs for a file, also if a chunk unpacks to a thousand times its
// size.
constexpr time_t kLeastSeconds = 10;
constexpr std::uintmax_t kBytesPerSecond = 1 << 16;

std::atomic<const std::string*> words_of_crash = nullptr;

extern "C" void end_at_crash(int /*signal*/) {
  const std::string& line = *words_of_crash.load();
  const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(written < 0 ? kExitFault : kExitUserError);
}

}  // namespace

Hdf5CrashWatch::Hdf5CrashWatch(const std::filesystem::path& path)
    : last_words_("skyline: " + path.string() +
                  ": damaged: the HDF5 library crashed, or came to no end, while it read the file\n"),
      earlier_words_(words_of_crash.exchange(&last_words_)) {
  struct sigaction action {};
  action.sa_handler = end_at_crash;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), &action, &earlier_.at(i));
  std::error_code unknown;
  const std::uintmax_t file_bytes = std::filesystem::file_size(path, unknown);
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGVTALRM;
  require(::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &limit_) == 0, "there is no timer of a thread");
  struct itimerspec limit {};
  limit.it_value.tv_sec = kLeastSeconds + (unknown ? 0 : static_cast<time_t>(file_bytes / kBytesPerSecond));
  ::timer_settime(limit_, 0, &limit, nullptr);
}

Hdf5CrashWatch::~Hdf5CrashWatch() {
  ::timer_delete(limit_);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), &earlier_.at(i), nullptr);
  words_of_crash = earlier_words_;
}

}  // namespace skyline::store

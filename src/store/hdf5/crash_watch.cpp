#include "store/hdf5/crash_watch.hpp"

#include "skyline/core/exit_code.hpp"

#include <atomic>

#include <unistd.h>

namespace skyline::store {
namespace {

std::atomic<const std::string*> words_of_crash = nullptr;

extern "C" void end_at_crash(int /*signal*/) {
  const std::string& line = *words_of_crash.load();
  const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(written < 0 ? kExitFault : kExitUserError);
}

}  // namespace

Hdf5CrashWatch::Hdf5CrashWatch(const std::filesystem::path& path)
    : last_words_("skyline: " + path.string() +
                  ": damaged: the HDF5 library crashed while it read the file\n"),
      earlier_words_(words_of_crash.exchange(&last_words_)) {
  struct sigaction action {};
  action.sa_handler = end_at_crash;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), &action, &earlier_.at(i));
}

Hdf5CrashWatch::~Hdf5CrashWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), &earlier_.at(i), nullptr);
  words_of_crash = earlier_words_;
}

}  // namespace skyline::store

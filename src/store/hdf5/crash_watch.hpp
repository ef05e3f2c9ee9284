#pragma once

#include <array>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>

namespace skyline::store {

/// Names the file if the HDF5 library crashes while this object lives, or works without an end, as it does on
/// some files that are damaged: the process then ends with one line and kExitUserError. Watches may be
/// nested. Only for one thread at a time.
class Hdf5CrashWatch {
 public:
  explicit Hdf5CrashWatch(const std::filesystem::path& path);
  ~Hdf5CrashWatch();
  Hdf5CrashWatch(const Hdf5CrashWatch&) = delete;
  Hdf5CrashWatch& operator=(const Hdf5CrashWatch&) = delete;

 private:
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGVTALRM};

  std::string last_words_;
  const std::string* earlier_words_;
  std::array<struct sigaction, kSignals.size()> earlier_{};
  timer_t limit_{};
};

}  // namespace skyline::store

#pragma once

#include <string>
#include <string_view>

namespace skyline::log {

enum class Level { kDebug, kInfo, kWarning, kError };

/// Writes one line to the terminal (standard error) and, once a file is open, to the log file, with time and
/// rank. Thread-safe. Before `start` lines go to the terminal alone.
void write(Level level, std::string_view message);
inline void debug(std::string_view message) {
  write(Level::kDebug, message);
}
inline void info(std::string_view message) {
  write(Level::kInfo, message);
}
inline void warning(std::string_view message) {
  write(Level::kWarning, message);
}
inline void error(std::string_view message) {
  write(Level::kError, message);
}

struct Options {
  std::string file;    // appended to; empty: no log file
  std::string prefix;  // e.g. "[rank 3 node07]"
  Level terminal_level = Level::kInfo;
};
/// Sets level and prefix, opens the log file. @throws UserError if the file cannot be opened
void start(const Options& options);
/// Flushes and closes the file. Lines written later go to the terminal alone.
void stop();

}  // namespace skyline::log

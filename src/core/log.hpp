#pragma once

#include <string>
#include <string_view>

namespace skyline::log {

enum class Level { kDebug, kInfo, kWarning, kError };

/// Writes one line, with time and rank, to the terminal (standard error) and to the log file if one is open.
/// Before `start` lines go to the terminal only. Thread-safe.
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
  std::string file;    // lines are appended; empty means no log file
  std::string prefix;  // e.g. "[rank 3 node07]"
  Level terminal_level = Level::kInfo;
};
/// Sets level and prefix, and opens the log file. @throws UserError if the file cannot be opened, or is a
/// link (open_own_file)
void start(const Options& options);
/// Flushes and closes the file. Later lines go to the terminal only.
void stop();

/// Writes one line without the prefix to the log file only, if one is open. Used for text that the terminal
/// shows in another form. Thread-safe.
void note(Level level, std::string_view message);

/// While an object of this class lives, threads of its own write the lines (LineWriter), so nobody waits for
/// a log file or a terminal that hangs. The destructor waits for these threads for at most two seconds; a
/// file or a terminal that has not taken its lines by then gets no more. There may be one object at a time.
class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
};

/// Waits for all earlier lines, at most one second. Call it before writing to the terminal directly.
void flush();

/// Writes bytes unchanged to the terminal, in order with its lines. Drops them if it takes no more.
void draw(std::string_view bytes);

}  // namespace skyline::log

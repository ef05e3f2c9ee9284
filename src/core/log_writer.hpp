#pragma once

#include "core/log.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace skyline::log {

/// A line that waits to be written, with the time of its origin.
struct Line {
  Level level = Level::kInfo;
  std::string text;
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
  bool as_it_is = false;  // bytes for a terminal instead of a line
};

/// A thread that writes lines to a file or a terminal which may hang. add() never waits: lines that do not
/// fit are dropped, debug and information first, and a line of its own gives their number.
class LineWriter {
 public:
  static constexpr std::size_t kMostLines = 4096;  // most waiting lines; twice as many for warnings and
                                                   // errors

  explicit LineWriter(std::function<void(const Line& line)> write);
  ~LineWriter();  // like finish(), but does not wait
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void add(Line line);
  /// Waits until all lines are written, at most for this long. Returns whether all are written.
  bool settle(std::chrono::milliseconds most);
  /// Does the same and ends the thread. A thread that is stuck in a write is detached and keeps its `write`.
  bool finish(std::chrono::milliseconds most);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skyline::log

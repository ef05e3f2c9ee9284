#pragma once

#include "core/log.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace skyline::log {

/// A line on its way, with the time at which it was said.
struct Line {
  Level level = Level::kInfo;
  std::string text;
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
  bool as_it_is = false;  // no line, but bytes for a terminal
};

/// A thread that writes lines to a file or a terminal which may take no more. add() never waits: lines that
/// do not fit are dropped, debug and information first, and counted in a line of its own.
class LineWriter {
 public:
  static constexpr std::size_t kMostLines = 4096;  // that wait; twice as many warnings and errors

  explicit LineWriter(std::function<void(const Line& line)> write);
  ~LineWriter();  // as finish(), without a wait
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void add(Line line);
  /// Waits until all is written; for as long at most. @return  whether it is
  bool settle(std::chrono::milliseconds most);
  /// The same, and ends the thread. One that is stuck in a write is detached, and keeps its `write`.
  bool finish(std::chrono::milliseconds most);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skyline::log

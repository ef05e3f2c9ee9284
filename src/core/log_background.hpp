#pragma once

#include <string_view>

namespace skyline::log {

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

#pragma once

#include <string_view>

namespace skyline::log {

/// While one lives, lines are written by threads of their own (LineWriter): nobody waits for a log file or a
/// terminal that takes no more. The destructor waits for these threads, two seconds at most; a file or a
/// terminal that has not taken its lines by then gets no more. One at a time.
class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
};

/// Waits until all earlier lines are written, a second at most: for a caller that writes to the terminal
/// itself next.
void settle();

/// Writes bytes to the terminal as they are, in turn with its lines; they are left out if it takes no more.
void draw(std::string_view bytes);

}  // namespace skyline::log

#pragma once

#include "report/text/progress.hpp"

#include <string>

namespace skyline::app {

/// Says how far a count is, once it has taken 2 s: on a terminal in one line, rewritten, which is gone in the
/// end; else in a line to the log every 10 s.
class CountProgress {
 public:
  explicit CountProgress(report::ProgressConsole console);
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  /// Whether show() has something to do.
  bool is_due() const { return console_.now_s() >= next_s_; }
  /// @param share  of all that has been counted, above 0 and at most 1
  void show(double share);

 private:
  const report::ProgressConsole console_;
  const double start_s_;
  double next_s_;
  bool drawn_ = false;
};

}  // namespace skyline::app

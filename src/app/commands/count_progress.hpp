#pragma once

#include "report/text/progress.hpp"

namespace skyline::app {

/// Shows the progress of a count that takes longer than 2 s. On a terminal it is one line, which is rewritten
/// and removed at the end; otherwise a line in the log every 10 s.
class CountProgress {
 public:
  explicit CountProgress(report::ProgressConsole console);
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  /// Returns whether it is time for show().
  bool is_due() const { return console_.now_s() >= next_s_; }
  /// @param share  share that has been counted, above 0 and at most 1
  void show(double share);

 private:
  const report::ProgressConsole console_;
  const double start_s_;
  double next_s_;
  bool drawn_ = false;
};

}  // namespace skyline::app

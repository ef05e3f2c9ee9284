#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// A metric and the best value that a trial had.
struct BestValue {
  std::string metric;
  double value = 0;
  bool operator==(const BestValue&) const = default;
};

/// Where a run stands: what the progress line shows and status.json holds (docs/results.md).
struct RunStatus {
  std::string state = "running";  // running | stopping | stopped | finished | failed
  std::string phase = "search";
  std::size_t done = 0;       // trials of this phase that are committed, replayed ones too
  std::size_t expected = 0;   // upper bound of this phase's trials
  std::size_t committed = 0;  // trials of all phases
  std::size_t in_flight = 0;
  std::size_t failed = 0;  // of all phases
  std::size_t front = 0;
  std::vector<BestValue> best;  // of the front's objectives, in order; in the final phase test_accuracy first
  std::size_t replayed = 0;     // committed by earlier jobs
  std::size_t slots = 0;
  std::size_t ranks = 0;
  std::size_t nodes = 0;
  double elapsed_s = 0;             // of this job
  std::optional<double> eta_s;      // left of this phase
  double updated = 0;               // seconds since 1970
  std::vector<std::string> recent;  // the last commits, oldest first

  std::string to_json() const;
  /// @throws UserError naming `file` if the text is no status
  static RunStatus parse(const std::string& text, const std::string& file);
  bool operator==(const RunStatus&) const = default;
};

}  // namespace skyline::report

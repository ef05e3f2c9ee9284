#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// A metric and its best value so far.
struct BestValue {
  std::string metric;
  double value = 0;
  bool operator==(const BestValue&) const = default;
};

/// The end of a job.
struct JobEnding {
  std::string job = {};  // number in the batch system, "812", or "812_3" in an array; empty if there is none
  int restart = 0;       // number of that job's restarts
  int exit_code = 0;
  bool out_of_time = false;  // it stopped early because its time was up, not on a signal
  bool progress = true;      // false if it stopped before it had committed a trial or saved anything of one
  bool operator==(const JobEnding&) const = default;
};

/// The status of a run: the contents of the progress line and of status.json (docs/results.md).
struct RunStatus {
  std::string state = "running";  // running | stopping | stopped | finished | failed
  std::string phase = "search";
  std::size_t done = 0;       // committed trials of this phase, including replayed ones
  std::size_t expected = 0;   // upper bound of this phase's trials
  std::size_t committed = 0;  // trials of all phases
  std::size_t in_flight = 0;
  std::size_t waiting = 0;  // trials in flight that have a result, which waits for those before it
  bool choosing = false;    // no trial is under way: the search is thinking about the next one
  std::size_t failed = 0;   // trials of all phases that failed
  std::size_t front = 0;
  std::vector<BestValue> best;  // best value per objective, in order; in the final phase a test value first
  std::size_t replayed = 0;     // trials committed by earlier jobs
  std::size_t slots = 0;
  std::size_t ranks = 0;
  std::size_t nodes = 0;
  double elapsed_s = 0;             // seconds of this job so far
  std::optional<double> eta_s;      // seconds left of this phase
  double updated = 0;               // seconds since 1970
  std::optional<JobEnding> ending;  // end of the last job; nullopt if it runs or was killed
  std::vector<std::string> recent;  // the last commits, oldest first
  std::string remark;               // what the search last said about itself; may be empty

  /// Returns e.g. "42 in flight, 5 of them done", or "choosing the next trial"; an empty text without any.
  std::string in_flight_text() const;
  std::string to_json() const;
  /// Parses status.json. @throws UserError with `file` if the text is not a status
  static RunStatus parse(const std::string& text, const std::string& file);
  bool operator==(const RunStatus&) const = default;
};

}  // namespace skyline::report

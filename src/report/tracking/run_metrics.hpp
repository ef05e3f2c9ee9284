#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/trial.hpp"

#include "search/pareto/pareto.hpp"
#include "store/events/event_file.hpp"

#include <string>
#include <vector>

namespace skyline::report {

/// Turns the trials of a run, in the order of their commits, into what is tracked of each: its own values
/// (`trial/...`, of a full training `final/...`) and how the run stands behind it (`front/size`,
/// `front/hypervolume`, `best/OBJECTIVE`, `run/failed_trials`). What is not finite or was not measured is
/// left out, and the volume of a front that is too large to measure it while the run goes on.
class RunMetrics {
 public:
  /// @param metrics  Evaluator::metrics()
  RunMetrics(objective::ObjectiveSet objectives, std::vector<std::string> metrics);

  store::MetricRecord next(const trial::CommittedTrial& committed, double unix_s);
  /// The next trial, of which nothing is to be tracked.
  void skip(const trial::CommittedTrial& committed) { keep(committed); }
  /// Arch ids of the front so far, oldest first.
  std::vector<std::string> front() const;

 private:
  void add_own(const trial::CommittedTrial& committed, store::MetricRecord& record) const;
  void keep(const trial::CommittedTrial& committed);
  double measured_volume() const;

  objective::ObjectiveSet objectives_;
  std::vector<std::string> metrics_;
  std::vector<std::string> shown_;  // metrics of a trial that are tracked
  search::ParetoArchive front_;
  std::vector<space::ArchId> architectures_;  // by position
  std::vector<double> worst_;                 // value of each objective, in the user's senses; empty: none
  std::vector<double> best_;
  double volume_ = 0;
  bool volume_holds_ = true;  // for the front as it is
  std::size_t failed_ = 0;
};

}  // namespace skyline::report

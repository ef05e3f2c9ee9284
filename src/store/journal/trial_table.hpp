#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "trial/trial_fields.hpp"

#include <string>
#include <vector>

namespace skyline::store {

/// The only list of what results say of each trial. run.h5 has all its columns in this order;
/// search_state.csv, models.json, pareto.json and the page of reports take theirs from here. A parameter or a
/// metric may have the name of another column.
class TrialTable {
 public:
  /// @param space    must outlive the table
  /// @param metrics  metrics of Measurements::values; must outlive the table
  TrialTable(const space::SearchSpace& space, const std::vector<trial::Metric>& metrics);

  /// Returns one cell for each column. A parameter that the network does not use has a value, too.
  /// @param on_front  whether the trial is on the front of its phase
  std::vector<trial::Cell> row(const trial::CommittedTrial& committed, bool on_front = false) const;
  /// Returns the columns, as a row whose values mean nothing.
  std::vector<trial::Cell> columns() const;

 private:
  const space::SearchSpace& space_;
  const std::vector<trial::Metric>& metrics_;
  std::vector<trial::CellValue> empty_;  // empty cell for each parameter, in the common type of its values
};

/// Returns "ok", "pruned", or the kind of the failure.
std::string status_of(const trial::CommittedTrial& committed);

}  // namespace skyline::store

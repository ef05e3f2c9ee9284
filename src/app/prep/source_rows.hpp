#pragma once

#include "skyline/store/dataset.hpp"

#include <string>
#include <vector>

namespace skyline::app {

/// The rows of a source, by which predictions are joined to it.
struct SourceRows {
  struct Row {
    store::Part part = store::Part::kTrain;
    std::string name;     // e.g. "photos/7.png", or "7", the number of the row in an array
    std::string problem;  // reason why there is no sample of this row; empty if there is one
  };
  std::string title = "row";  // meaning of the names: "file", "row", or the title of a column
  bool may_fail = false;      // true if rows without a sample are left out rather than refused
  std::vector<Row> rows;      // within a part in the order of its samples
};

}  // namespace skyline::app

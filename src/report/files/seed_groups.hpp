#pragma once

#include "report/report.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// The full trainings of an architecture that differ in their seed, in the order of their commits.
using SeedGroup = std::vector<run::SharedTrial>;

/// Those of the final budget, best mean of the first objective first; of architectures with several alone.
std::vector<SeedGroup> seed_groups(const ReportInputs& inputs);

/// A metric over the trainings of a group that have it.
struct Spread {
  std::size_t count = 0;
  double mean = 0;
  std::optional<double> deviation;  // standard deviation of the sample; nothing: of a single value
};
/// @return  nothing if no training has the metric
std::optional<Spread> spread_of(const SeedGroup& group, const std::string& metric,
                                const std::vector<trial::Metric>& metrics);

}  // namespace skyline::report

#pragma once

#include "report/report.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// Full trainings of an architecture with different seeds, in the order of their commits.
using SeedGroup = std::vector<run::SharedTrial>;

/// Groups the first full trainings of all trials with the final budget by architecture and keeps groups of
/// two or more, ordered by the mean of the first objective, best first.
std::vector<SeedGroup> seed_groups(const ReportInputs& inputs);

/// A metric over those trainings of a group that have it.
struct Spread {
  std::size_t count = 0;
  double mean = 0;
  std::optional<double> deviation;  // standard deviation of the sample; nullopt for one value
};
/// Returns nullopt if no training of the group has the metric.
std::optional<Spread> spread_of(const SeedGroup& group, const std::string& metric,
                                const std::vector<trial::Metric>& metrics);

}  // namespace skyline::report

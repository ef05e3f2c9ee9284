#pragma once

#include "skyline/space/search_space.hpp"

#include "trial/given_metric.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace skyline::app {

/// Reads the answer of a program that counts costs: `{"costs": [{"params": 1e6}, ...]}`, one for each
/// genotype, or a text in its place that says why it has none.
/// @param genotypes  those that the program was asked about, for messages
/// @param metrics    metrics that it counts
/// @return  values of the metrics in their order, for each genotype
/// @throws UserError for another answer, with the parameters
std::vector<std::vector<double>> read_costs(std::string_view line, std::span<const space::Genotype> genotypes,
                                            const space::SearchSpace& space,
                                            const std::vector<trial::GivenMetric>& metrics);

}  // namespace skyline::app

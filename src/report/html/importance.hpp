#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::report {

/// The values of a parameter in some trials.
struct ParameterColumn {
  std::size_t values = 0;  // number of possible values
  bool ordered = false;    // true for ascending numbers, false for names
  std::vector<std::int32_t>
      choices;  // [trials], each below `values`, or -1 if the trial's network does not use it
};

/// Computes how much each parameter decides whether a trial is among the best tenth (PED-ANOVA), as Optuna 5
/// does: a Parzen estimate of the parameter's distribution among the best trials is compared with that among
/// all trials, by Pearson's divergence. Local; deterministic.
/// @param minimized  values that rank the trials, smaller is better, [trials], finite
/// @return           [parameters], at least 0 and with the sum 1; all 0 if the trials do not show it
/// @see Watanabe, Bansal, Hutter, IJCAI 2023 (arXiv:2304.10255); for parameters that not all trials have:
///      Conditional PED-ANOVA (arXiv:2601.20800)
std::vector<double> parameter_importance(std::span<const ParameterColumn> parameters,
                                         std::span<const double> minimized);

}  // namespace skyline::report

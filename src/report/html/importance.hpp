#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::report {

/// A parameter of the space over some trials.
struct ParameterColumn {
  std::size_t values = 0;  // that it can have
  bool ordered = false;    // numbers, ascending; else names
  std::vector<std::int32_t>
      choices;  // [trials], each below `values`; -1: the trial's network does not use it
};

/// How much each parameter decides whether a trial is among the best tenth (PED-ANOVA).
/// Local; deterministic. As Optuna 5 computes it: a Parzen estimate of the parameter's distribution among the
/// best trials is compared with that among all trials, by Pearson's divergence.
/// @param minimized  what the trials are ranked by, smaller is better, [trials], finite
/// @return           [parameters], at least 0 and with the sum 1; all 0 where nothing can be told
/// @see Watanabe, Bansal, Hutter, IJCAI 2023 (arXiv:2304.10255); parameters that not all trials have:
///      Conditional PED-ANOVA (arXiv:2601.20800)
std::vector<double> parameter_importance(std::span<const ParameterColumn> parameters,
                                         std::span<const double> minimized);

}  // namespace skyline::report

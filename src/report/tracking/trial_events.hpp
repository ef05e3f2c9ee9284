#pragma once

#include "run/opened_run.hpp"

#include <cstddef>
#include <filesystem>

namespace skyline::report {

/// TensorBoard reads each folder as a run of its own, and becomes slow with more.
inline constexpr std::size_t kMostTrialFolders = 1000;

/// Writes a folder with one event file for each trial, named as the trial ("17", "17.final"): its learning
/// curve (`curve/NAME`), its results as in the events of the run, and the values of its parameters, which
/// make it a row of the tab HParams. If there are too many, those on the fronts come first, then those with
/// the lowest numbers.
/// @param folder  must exist and is empty
/// @return the number of trials that were left out
/// @throws Problem if a file cannot be written
std::size_t write_trial_events(const run::OpenedRun& opened, const std::filesystem::path& folder);

}  // namespace skyline::report

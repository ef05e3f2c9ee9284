#pragma once

#include "app/config/run_config.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace skyline::app {

/// The time of a trial without waits for a processor: of an epoch, and of everything beside its epochs.
struct TrialTime {
  double epoch_s = 0;
  double rest_s = 0;
  double waited_share = 0;  // share of the measured time spent waiting for a processor
};

/// Says that this share was waited for. Empty if it is small.
std::string busy_text(double waited_share);

/// Trains a few architectures of the space for a second each. Returns the mean time of its trials.
/// @pre the evaluator trains networks. @throws UserError if an architecture cannot be trained
TrialTime mean_trial_time(const RunConfig& config);

/// Trains a few architectures of the space for a second each, with the settings and the data of the run.
/// Returns how long trials and the whole search will take, in a few lines that begin with "# time: ".
/// @param slots  number of slots of the search; if not given, as many as this machine has
/// @throws UserError if the evaluator trains nothing, or an architecture cannot be trained
std::string time_text(const RunConfig& config, std::optional<std::size_t> slots);

}  // namespace skyline::app

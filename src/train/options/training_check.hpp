#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "train/options/training_options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::train {

/// An option that does not suit a data set.
struct Objection {
  std::string key;  // dotted path below `training`
  std::string reason;
};

/// Returns the first objection, or nullopt if the options suit the data set and its split.
std::optional<Objection> find_objection(const TrainingOptions& options, const store::Dataset& dataset,
                                        const store::SplitIndices& split);

/// What networks would be trained on here.
struct TrainingHost {
  std::size_t processors = 1;        // processors that this process may use
  bool multiplies_bfloat16 = false;  // whether the processor has instructions for it
  bool has_gpu = false;
};
TrainingHost find_training_host();

/// Returns options that are valid but rarely intended, one line each.
std::vector<std::string> find_warnings(const TrainingOptions& options, const store::Dataset& dataset,
                                       const store::SplitIndices& split, const TrainingHost& host);

/// Returns the options with the loss and metrics that the data set implies, and with the facts about the data
/// set that they need.
TrainingOptions adapt_to_data(const TrainingOptions& options, const store::Dataset& dataset,
                              const store::SplitIndices& split);

}  // namespace skyline::train

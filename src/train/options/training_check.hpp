#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "train/options/training_options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::train {

/// What a data set cannot give to the options.
struct Objection {
  std::string key;  // dotted, below `training`
  std::string reason;
};

/// The first objection; nothing if the options suit the data set and its split.
std::optional<Objection> find_objection(const TrainingOptions& options, const store::Dataset& dataset,
                                        const store::SplitIndices& split);

/// What may be meant so, and rarely is: a line each. @param processors  that this process may use
std::vector<std::string> find_doubts(const TrainingOptions& options, const store::SplitIndices& split,
                                     std::size_t processors);

/// The options with the loss and metrics that the data set implies, and with the problem that it is.
TrainingOptions fit_to_data(const TrainingOptions& options, const store::Dataset& dataset,
                            const store::SplitIndices& split);

}  // namespace skyline::train

#pragma once

#include "skyline/store/dataset.hpp"

#include "app/models/taken_model.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

/// Samples that a model is used on.
struct DataChoice {
  std::vector<std::filesystem::path> sources;                // a prepared file, or what `prep` takes
  std::string kind;                                          // of `prep`; empty: by what the source is
  std::vector<std::pair<std::string, std::string>> options;  // of `prep`
  std::string part;                                          // empty: the test set if there is one
};

/// Reads samples for the models of a run, prepared as the run's own were: in their shape, scaled by the means
/// of the run's training set, with the run's classes. Sources of `skyline prep` become a data set file in the
/// system's folder for temporary files, which is gone when this returns.
/// @param has_targets  false: targets that the data have are not read
/// @return  a data set whose parts are all the chosen samples
/// @throws UserError, one line: samples of another shape or type, a class that the run does not know
std::shared_ptr<const store::Dataset> open_model_data(const ModelSource& source, const DataChoice& choice,
                                                      bool has_targets);

}  // namespace skyline::app

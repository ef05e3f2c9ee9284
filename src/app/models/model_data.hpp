#pragma once

#include "skyline/store/dataset.hpp"

#include "app/models/selected_model.hpp"
#include "app/prep/made_dataset.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

/// The samples on which a model is used.
struct DataChoice {
  std::vector<std::filesystem::path> sources;  // a prepared file, or sources for `prep`
  std::string kind;                            // kind for `prep`; if empty, it is chosen by the source
  std::vector<std::pair<std::string, std::string>> options;  // options for `prep`
  std::string part;                                          // if empty, the test set if there is one
};

/// Reads samples for the models of a run and prepares them like the run's own: in their shape, scaled by the
/// means of the run's training set, with the run's classes. Sources of `skyline prep` are written to a data
/// set in the system's folder for temporary files, which is removed before this returns. Returns a data set
/// in which every part consists of the chosen samples.
/// @param has_targets  false: do not read targets, even if the data have some
/// @param rows  if not null, gets the rows of the source in this part, with those of which there is no sample
/// @throws UserError, one line, if there are no samples, nor rows that say why; for samples of another shape
/// or type, or a class that the run does not have
std::shared_ptr<const store::Dataset> open_model_data(const ModelSource& source, const DataChoice& choice,
                                                      bool has_targets, SourceRows* rows = nullptr);

}  // namespace skyline::app

#pragma once

#include "skyline/store/dataset.hpp"

#include "app/config/config_sections.hpp"
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

/// What the samples for a model must be like. A file of another program may not say all of it.
struct SampleNeeds {
  DataOptions data;  // has a shape; without names of outputs the targets are those of the samples
  std::string owner = "the run";  // name in messages
};

/// Reads samples for a model and prepares them like those of its own data: in their shape, scaled by the
/// means of the run's training set, with the run's classes. Sources of `skyline prep` are written to a data
/// set in the system's folder for temporary files, which is removed before this returns. Returns a data set
/// in which every part consists of the chosen samples.
/// @param has_targets  false: do not read targets, even if the data have some
/// @param rows  if not null, gets the rows of the source in this part, with those of which there is no sample
/// @throws UserError, one line, if there are no samples, nor rows that say why; for samples of another shape
/// or type, a class that the model does not have, or a source that is not prepared where not all is stated
std::shared_ptr<const store::Dataset> open_model_data(const SampleNeeds& stated, const DataChoice& choice,
                                                      bool has_targets, SourceRows* rows = nullptr);

}  // namespace skyline::app

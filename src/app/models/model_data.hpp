#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/store/importer.hpp"

#include "app/models/taken_model.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
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

/// Returns the kind of source, as `skyline prep` names it: images of a folder or of a file that is one, else
/// arrays.
std::string kind_of_source(const std::filesystem::path& source);

/// Returns a message of an importer for commands that have its options as --with KEY=VALUE: `--size=32`
/// becomes
/// `--with size=32`.
std::string spelled_by_with(std::string_view message, const store::Importer& importer);
/// Imports for such a command: errors are spelled so. @throws UserError, FaultError as the importer
void import_by_with(const store::Importer& importer, const store::ImportSource& source,
                    store::DatasetWriter& writer);

/// Reads samples for the models of a run and prepares them like the run's own: in their shape, scaled by the
/// means of the run's training set, with the run's classes. Sources of `skyline prep` are written to a data
/// set in the system's folder for temporary files, which is removed before this returns. Returns a data set
/// in which every part consists of the chosen samples.
/// @param has_targets  false: do not read targets, even if the data have some
/// @param rows  if not null, gets the rows of the source in this part, with those of which there is no sample
/// @throws UserError, one line, for samples of another shape or type, or a class that the run does not have
std::shared_ptr<const store::Dataset> open_model_data(const ModelSource& source, const DataChoice& choice,
                                                      bool has_targets, store::SourceRows* rows = nullptr);

}  // namespace skyline::app

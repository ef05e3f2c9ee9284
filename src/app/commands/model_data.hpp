#pragma once

#include "skyline/store/dataset.hpp"

#include "app/commands/commands.hpp"
#include "app/commands/taken_model.hpp"

#include <memory>

namespace skyline::app {

/// Reads samples for the models of a run, prepared as the run's own were: in their shape, scaled by the means
/// of the run's training set, with the run's classes. Sources of `skyline prep` become a data set file in the
/// system's folder for temporary files, which is gone when this returns.
/// @param has_targets  false: targets that the data have are not read
/// @return  a data set whose parts are all the chosen samples
/// @throws UserError, one line: samples of another shape or type, a class that the run does not know
std::shared_ptr<const store::Dataset> open_model_data(const ModelSource& source, const DataChoice& choice,
                                                      bool has_targets);

}  // namespace skyline::app

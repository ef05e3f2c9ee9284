#pragma once

#include "app/models/selected_model.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace skyline::app {

/// Samples by which other programs measure the values inside a network, to turn them into whole numbers.
struct Calibration {
  std::string npz;  // arrays `input`, float32 as exported models read it, and `label`, the targets
  std::size_t samples = 0;
};

/// Draws samples on which the run's networks were trained, of each class the same share. The same samples for
/// the same run. Targets are classes [N], or labels or numbers [N, outputs], numbers in the units of their
/// table.
/// @param count  most samples
/// @param file  the run's data set; if empty, where it was when the run began
/// @throws UserError if the data set is not there or another one, or so many samples take 4 GB
Calibration draw_calibration(const ModelSource& source, std::size_t count, const std::filesystem::path& file);

}  // namespace skyline::app

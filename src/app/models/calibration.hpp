#pragma once

#include "app/models/selected_model.hpp"
#include "space/quantized/int8_network.hpp"
#include "store/data/sample_draw.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace skyline::app {

/// The samples that a command takes for calibration.
struct CalibrationChoice {
  std::size_t count = store::kCalibrationSamples;  // most samples
  std::filesystem::path file = {};                 // the run's data set; empty for where it was
  std::string option;                              // option that asks for them, for messages
  std::string file_option;                         // option that names the file
};

/// Training samples by which the values inside the networks of a run are measured, to turn them into whole
/// numbers.
struct CalibrationSet {
  std::shared_ptr<const store::Dataset> dataset;  // data set of the run
  DataOptions data;                               // facts about it
  std::vector<std::int64_t> rows;                 // indices in its training set
};

/// Draws samples on which the run's networks were trained, of each class the same share. The same samples for
/// the same run, and those by which its trials are measured in int8.
/// @throws UserError if the data set is not there or another one
CalibrationSet draw_calibration(const ModelSource& source, const CalibrationChoice& choice);

/// Returns the samples for other programs: `input`, float32 as exported models read it, and `label`, the
/// targets: classes [N], or labels or numbers [N, outputs], numbers in the units of their table.
/// @throws UserError if they take 4 GB
std::string calibration_npz(const CalibrationSet& set);

/// Turns a trained network into an int8 one, as it is measured. Warns if there are few samples.
/// @throws UserError for a layer kind without int8 steps, and for values that are not finite on a sample
space::Int8Network int8_form(const ModelSource& source, const SelectedModel& model,
                             const CalibrationSet& set);

}  // namespace skyline::app

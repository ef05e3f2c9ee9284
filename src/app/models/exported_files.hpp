#pragma once

#include "app/models/calibration.hpp"
#include "app/models/selected_model.hpp"
#include "model_export/model/exported_model.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The formats in which models are exported, and where their files go.
struct ExportChoice {
  std::vector<model_export::Format> formats;
  std::filesystem::path folder;
  bool overwrites = true;
  std::optional<CalibrationSet> calibration = {};  // needed for int8 formats

  bool has_int8() const;
};

/// The files of a model.
struct ExportedFiles {
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> refused;  // a line for each format in which the model cannot be written
};

/// Publishes the files of a model. @throws UserError if one exists and must not be overwritten
ExportedFiles export_model(const ModelSource& source, const SelectedModel& selected,
                           const ExportChoice& choice);

/// Makes the folder of exported files. @throws UserError
void make_export_folder(const ModelSource& source, const std::filesystem::path& folder);

}  // namespace skyline::app

#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/job/stop_request.hpp"
#include "app/models/calibration.hpp"
#include "app/models/exported_files.hpp"
#include "app/models/selected_model.hpp"
#include "core/text/wording.hpp"
#include "model_export/model/exported_model.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {
namespace {

using model_export::Format;

constexpr int kMostCalibration = 1'000'000;

struct ExportArguments {
  ModelChoice choice;
  Format format = Format::kOnnx;
  std::filesystem::path out;    // folder; empty for that of the run
  bool force = false;           // overwrite files of another folder
  std::size_t calibration = 0;  // most samples of calibration.npz; 0 for no such file
  std::filesystem::path data;   // data set of the run; empty for where it was
};

constexpr const char* kCalibrationFile = "calibration.npz";

/// The calibration samples as a file.
struct CalibrationFile {
  std::string npz;
  std::size_t samples = 0;
};

CalibrationFile calibration_file(const ModelSource& source, const ExportArguments& arguments) {
  const CalibrationSet set = draw_calibration(source, {.count = arguments.calibration,
                                                       .file = arguments.data,
                                                       .option = "--calibration",
                                                       .file_option = "--data"});
  return {calibration_npz(set), set.rows.size()};
}

std::filesystem::path write_calibration(const ModelSource& source, const CalibrationFile& calibration,
                                        std::size_t wanted, const std::filesystem::path& folder,
                                        bool overwrites) {
  make_export_folder(source, folder);
  std::filesystem::path file = folder / kCalibrationFile;
  write_output(file, calibration.npz, overwrites);
  if (calibration.samples < wanted) {
    print_error("--calibration " + std::to_string(wanted) + ": the training set has " +
                counted(calibration.samples, "sample") + ", which are all in the file");
  }
  return file;
}

/// Returns what is exported, and draws the samples that int8 formats need.
ExportChoice export_choice(const ModelSource& source, const ExportArguments& arguments) {
  ExportChoice choice{.formats = {arguments.format},
                      .folder = arguments.out.empty() ? source.run.paths.exports() : arguments.out,
                      .overwrites = arguments.force || arguments.out.empty()};
  if (choice.has_int8())
    choice.calibration =
        draw_calibration(source, {.file = arguments.data, .option = "--format", .file_option = "--data"});
  return choice;
}

int run_export(const ExportArguments& arguments) {
  if (!arguments.data.empty() && arguments.calibration == 0 && !is_int8(arguments.format))
    throw UserError("--data: is for --calibration and the int8 formats: onnx-int8, tflite, c");
  const ModelSource source = ModelSource::open(arguments.choice.run);
  const ExportChoice choice = export_choice(source, arguments);
  std::optional<CalibrationFile> calibration;  // refused before any model is written
  if (arguments.calibration > 0) {
    check_output(choice.folder / kCalibrationFile, choice.overwrites);
    calibration = calibration_file(source, arguments);
  }
  std::vector<std::string> refused;
  auto missing = select_models(source, arguments.choice, [&](const SelectedModel& model) {
    const ExportedFiles exported = export_model(source, model, choice);
    for (const auto& path : exported.paths) std::cout << path.string() << std::endl;
    refused.insert(refused.end(), exported.refused.begin(), exported.refused.end());
  });
  if (calibration) {
    std::cout << write_calibration(source, *calibration, arguments.calibration, choice.folder,
                                   choice.overwrites)
                     .string()
              << std::endl;
  }
  missing.insert(missing.end(), refused.begin(), refused.end());
  for (const std::string& line : missing) print_error(line);
  return missing.empty() ? kExitDone : kExitUserError;
}

}  // namespace

RunCommand export_command(CLI::App& command) {
  std::map<std::string, Format> formats;
  for (const auto& [name, format] : model_export::kFormats) formats.emplace(name, format);
  const auto arguments = std::make_shared<ExportArguments>();
  add_models(command, arguments->choice);
  command
      .add_option(
          "--format", arguments->format,
          "onnx (default), pytorch, safetensors, or with whole numbers onnx-int8, tflite, c (docs/devices.md)")
      ->transform(one_of(formats));
  add_path(command, "-o,--out", arguments->out, "folder to write to (default: RUN/exports)");
  command
      .add_option("--calibration", arguments->calibration,
                  "write so many training samples to calibration.npz, for other programs (docs/models.md)")
      ->check(whole_number(1, kMostCalibration));
  add_path(command, "--data", arguments->data,
           "data set of the run, for --calibration and int8 formats, where it is elsewhere than when the run "
           "began");
  command.add_flag("--force", arguments->force, "overwrite files in another folder than RUN/exports");
  return [arguments] { return run_export(*arguments); };
}

}  // namespace skyline::app

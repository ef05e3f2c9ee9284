#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/config/exported_network.hpp"
#include "app/job/stop_request.hpp"
#include "app/models/calibration.hpp"
#include "app/models/selected_model.hpp"
#include "core/text/wording.hpp"
#include "model_export/model/exported_model.hpp"
#include "store/publish/publish.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {
namespace {

using model_export::ExportedModel;
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

struct ExportedFile {
  std::filesystem::path path;
  std::string bytes;
};

std::vector<ExportedFile> files_of(const ExportedModel& model, trial::TrialNumber number, Format format,
                                   const std::filesystem::path& folder) {
  const std::string name = std::to_string(number);
  if (format == Format::kOnnx) return {{folder / (name + ".onnx"), onnx_bytes(model)}};
  if (format == Format::kSafetensors) return {{folder / (name + ".safetensors"), safetensors_bytes(model)}};
  const std::string module = "trial_" + name;  // a name that Python can import
  return {{folder / (module + ".safetensors"), safetensors_bytes(model)},
          {folder / (module + ".py"), pytorch_source(model, module + ".safetensors")}};
}

/// Makes the folder of exported files.
void make_export_folder(const ModelSource& source, const std::filesystem::path& folder) {
  if (folder == source.run.paths.exports())
    return store::make_own_folder(folder);  // others may have put a link there
  make_output_folder(folder);
}

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

int run_export(const ExportArguments& arguments) {
  const ModelSource source = ModelSource::open(arguments.choice.run);
  const std::filesystem::path own = source.run.paths.exports();
  const std::filesystem::path& folder = arguments.out.empty() ? own : arguments.out;
  const bool overwrites = arguments.force || arguments.out.empty();
  std::optional<CalibrationFile> calibration;  // refused before any model is written
  if (arguments.calibration > 0) {
    check_output(folder / kCalibrationFile, overwrites);
    calibration = calibration_file(source, arguments);
  }
  const auto missing = select_models(source, arguments.choice, [&](const SelectedModel& model) {
    for (const auto& path : export_model(source, model, arguments.format, folder, overwrites)) {
      std::cout << path.string() << std::endl;
    }
  });
  if (calibration) {
    std::cout << write_calibration(source, *calibration, arguments.calibration, folder, overwrites).string()
              << std::endl;
  }
  for (const std::string& line : missing) print_error(line);
  return missing.empty() ? kExitDone : kExitUserError;
}

}  // namespace

std::vector<std::filesystem::path> export_model(const ModelSource& source, const SelectedModel& selected,
                                                model_export::Format format,
                                                const std::filesystem::path& folder, bool overwrites) {
  const ExportedModel model = exported_network(selected.architecture().network(), selected.weights,
                                               source.data, metadata_of(source, selected));
  model_export::check_weights(model, selected.file);
  make_export_folder(source, folder);
  std::vector<std::filesystem::path> written;
  for (const ExportedFile& file : files_of(model, selected.trained->trial.number, format, folder)) {
    write_output(file.path, file.bytes, overwrites);
    written.push_back(file.path);
  }
  return written;
}

RunCommand export_command(CLI::App& command) {
  static const std::map<std::string, Format> formats{
      {"onnx", Format::kOnnx}, {"pytorch", Format::kPytorch}, {"safetensors", Format::kSafetensors}};
  const auto arguments = std::make_shared<ExportArguments>();
  add_models(command, arguments->choice);
  command.add_option("--format", arguments->format, "onnx (default), pytorch or safetensors")
      ->transform(one_of(formats));
  add_path(command, "-o,--out", arguments->out, "folder to write to (default: RUN/exports)");
  CLI::Option* const calibration =
      command
          .add_option("--calibration", arguments->calibration,
                      "write so many training samples to calibration.npz, for int8 (docs/models.md)")
          ->check(whole_number(1, kMostCalibration));
  add_path(command, "--data", arguments->data,
           "data set of the run, for --calibration, where it is elsewhere than when the run began")
      ->needs(calibration);
  command.add_flag("--force", arguments->force, "overwrite files in another folder than RUN/exports");
  return [arguments] { return run_export(*arguments); };
}

}  // namespace skyline::app

#include "app/models/exported_files.hpp"

#include "skyline/core/error.hpp"

#include "app/commands/output_file.hpp"
#include "app/config/exported_network.hpp"
#include "core/log.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace skyline::app {
namespace {

using model_export::ExportedModel;
using model_export::Format;

struct NamedBytes {
  std::string name;
  std::string bytes;
};

std::string name_in_sources(const std::string& number) {
  return "trial_" + number;
}

/// Returns the model that takes the sounds whose spectrograms this one takes; nullopt if it takes no
/// spectrograms.
/// @throws UserError if the preparation makes others
std::optional<ExportedModel> model_of_sounds(const ExportedModel& model, const std::string& preparation) {
  if (preparation.empty()) return std::nullopt;
  const std::optional<store::LogMel> log_mel = store::read_preparation(preparation).log_mel;
  if (!log_mel) return std::nullopt;
  if (space::Shape{1, log_mel->bands, log_mel->frames()} != model.network.input) {
    throw UserError("data.preparation makes spectrograms of " + std::to_string(log_mel->bands) + " x " +
                    std::to_string(log_mel->frames()) + ", and the network takes " +
                    to_text(model.network.input));
  }
  ExportedModel changed = model;
  changed.log_mel = log_mel;
  for (auto& [key, value] : changed.metadata) {
    if (key != "input") continue;
    value = std::to_string(log_mel->length) + " samples of a sound at " + std::to_string(log_mel->rate) +
            " Hz, from -1 to 1; the model makes the spectrogram";
  }
  return changed;
}

/// Returns the files of a model in a format. @throws UserError if the format cannot hold it
std::vector<NamedBytes> files_of(const ExportedModel& model, const std::string& number, Format format,
                                 const std::string& preparation) {
  if (format == Format::kOnnx) {
    std::vector<NamedBytes> files{{number + ".onnx", onnx_bytes(model)}};
    const std::optional<ExportedModel> of_sounds = model_of_sounds(model, preparation);
    if (of_sounds) files.push_back({number + ".sound.onnx", onnx_bytes(*of_sounds)});
    return files;
  }
  if (format == Format::kSafetensors) return {{number + ".safetensors", safetensors_bytes(model)}};
  const std::string name = name_in_sources(number);
  return {{name + ".safetensors", safetensors_bytes(model)},
          {name + ".py", pytorch_source(model, name + ".safetensors")}};
}

struct Int8Files {
  std::vector<NamedBytes> files;
  std::size_t flash_bytes = 0;  // bytes of the .tflite file or the array in C; 0 for other formats
};

/// Returns the files of an int8 network in a format. @throws UserError if the format cannot hold it
Int8Files int8_files_of(const ExportedModel& model, const space::Int8Network& int8, const std::string& number,
                        const std::vector<std::string>& outputs, Format format) {
  if (format == Format::kOnnxInt8) return {{{number + ".int8.onnx", onnx_int8_bytes(model, int8)}}};
  if (format == Format::kTflite) {
    std::string bytes = tflite_bytes(model, int8);
    const std::size_t flash_bytes = bytes.size();
    return {{{number + ".tflite", std::move(bytes)}}, flash_bytes};
  }
  const std::string name = name_in_sources(number);
  const model_export::CSources sources = c_sources(model, int8, name, outputs);
  return {
      {{name + ".h", sources.header}, {name + ".c", sources.source}, {name + "_example.cc", sources.example}},
      sources.model_bytes};
}

/// Warns of a model that takes more flash than the run allows weights, which are the most of it.
void warn_of_flash(const ModelSource& source, const std::string& number, std::size_t bytes) {
  for (const objective::Constraint& constraint : source.run.state.objectives().constraints()) {
    if (constraint.metric != "int8_weight_bytes" || static_cast<double>(bytes) <= constraint.high) continue;
    log::warning("trial " + number + " takes " + std::to_string(bytes) +
                 " bytes of flash as a .tflite file, more than the constraint `" + to_text(constraint) +
                 "`, which counts weights alone");
  }
}

/// Adds what int8 files say beside the model's own facts.
void add_int8_facts(model_export::Metadata& metadata, const CalibrationSet& calibration) {
  metadata.emplace_back("int8",
                        "8 bits after training: weights symmetric by output channel, values of each tensor "
                        "from the smallest to the largest one of the calibration samples, biases corrected");
  metadata.emplace_back("int8_calibration_samples", std::to_string(calibration.rows.size()));
  metadata.emplace_back("onnxruntime_session_option", "session.x64quantprecision=1");
}

}  // namespace

bool ExportChoice::has_int8() const {
  return std::ranges::any_of(formats, model_export::is_int8);
}

ExportedFiles export_model(const ModelSource& source, const SelectedModel& selected,
                           const ExportChoice& choice) {
  const ExportedModel model = exported_network(selected.architecture().network(), selected.weights,
                                               source.data, metadata_of(source, selected));
  model_export::check_weights(model, selected.file);
  make_export_folder(source, choice.folder);
  const std::string number = std::to_string(selected.trained->trial.number);
  ExportedFiles exported;
  const auto or_refused = [&](const auto& make) {
    try {
      make();
    } catch (const UserError& error) {
      exported.refused.push_back("trial " + number + ": " + error.what());
    }
  };
  ExportedModel int8_model = model;
  std::optional<space::Int8Network> int8;
  if (choice.has_int8()) {
    add_int8_facts(int8_model.metadata, choice.calibration.value());
    or_refused([&] { int8 = int8_form(source, selected, *choice.calibration); });
  }
  std::size_t flash_bytes = 0;
  for (const Format format : choice.formats) {
    if (is_int8(format) && !int8) continue;
    std::vector<NamedBytes> files;
    or_refused([&] {
      if (!is_int8(format)) {
        files = files_of(model, number, format, source.data.preparation);
        return;
      }
      Int8Files made = int8_files_of(int8_model, *int8, number, source.data.class_names, format);
      files = std::move(made.files);
      flash_bytes = std::max(flash_bytes, made.flash_bytes);
    });
    for (const NamedBytes& file : files) {
      exported.paths.push_back(choice.folder / file.name);
      write_output(exported.paths.back(), file.bytes, choice.overwrites);
    }
  }
  warn_of_flash(source, number, flash_bytes);
  return exported;
}

void make_export_folder(const ModelSource& source, const std::filesystem::path& folder) {
  if (folder == source.run.paths.exports())
    return store::make_own_folder(folder);  // others may have put a link there
  make_output_folder(folder);
}

}  // namespace skyline::app

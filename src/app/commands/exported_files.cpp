#include "app/models/exported_files.hpp"

#include "skyline/core/error.hpp"

#include "app/commands/output_file.hpp"
#include "app/config/exported_network.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <utility>

namespace skyline::app {
namespace {

using model_export::ExportedModel;
using model_export::Format;

struct NamedBytes {
  std::string name;
  std::string bytes;
};

/// Returns the files of a model in a format. @throws UserError if it cannot be written in this format
std::vector<NamedBytes> files_of(const ExportedModel& model, const space::Int8Network* int8,
                                 const std::string& number, const std::vector<std::string>& outputs,
                                 Format format) {
  const std::string name = "trial_" + number;  // a name in Python and C
  switch (format) {
    case Format::kOnnx:
      return {{number + ".onnx", onnx_bytes(model)}};
    case Format::kSafetensors:
      return {{number + ".safetensors", safetensors_bytes(model)}};
    case Format::kPytorch:
      return {{name + ".safetensors", safetensors_bytes(model)},
              {name + ".py", pytorch_source(model, name + ".safetensors")}};
    case Format::kOnnxInt8:
      return {{number + ".int8.onnx", onnx_int8_bytes(model, *int8)}};
    case Format::kTflite:
      return {{number + ".tflite", tflite_bytes(model, *int8)}};
    case Format::kC: {
      const model_export::CSources sources = c_sources(model, *int8, name, outputs);
      return {{name + ".h", sources.header},
              {name + ".c", sources.source},
              {name + "_example.cc", sources.example}};
    }
  }
  throw InternalError("unknown format");
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
  ExportedModel int8_model = model;
  std::optional<space::Int8Network> int8;
  const std::string number = std::to_string(selected.trained->trial.number);
  ExportedFiles exported;
  for (const Format format : choice.formats) {
    std::vector<NamedBytes> files;
    try {
      if (is_int8(format) && !int8) {
        add_int8_facts(int8_model.metadata, choice.calibration.value());
        int8 = int8_form(source, selected, *choice.calibration);
      }
      files = files_of(is_int8(format) ? int8_model : model, int8 ? &*int8 : nullptr, number,
                       source.data.class_names, format);
    } catch (const UserError& error) {
      exported.refused.push_back("trial " + number + ": " + error.what());
      continue;
    }
    for (const NamedBytes& file : files) {
      exported.paths.push_back(choice.folder / file.name);
      write_output(exported.paths.back(), file.bytes, choice.overwrites);
    }
  }
  return exported;
}

void make_export_folder(const ModelSource& source, const std::filesystem::path& folder) {
  if (folder == source.run.paths.exports())
    return store::make_own_folder(folder);  // others may have put a link there
  make_output_folder(folder);
}

}  // namespace skyline::app

#pragma once

#include "model_export/model/exported_model.hpp"

#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

namespace skyline::model_export::test {

/// Writes the int8 files of a model, with what Skyline computes for these samples: NAME.int8.onnx,
/// NAME.tflite or the reason why there is none in NAME.refused, NAME.normalized (the samples),
/// NAME.int8_outputs.
/// @param images  [samples, channels, height, width], normalized; also the calibration samples
void write_int8(const std::filesystem::path& folder, const std::string& name, const ExportedModel& model,
                const at::Tensor& images);

}  // namespace skyline::model_export::test

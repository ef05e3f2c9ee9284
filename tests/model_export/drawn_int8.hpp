#pragma once

#include "model_export/model/exported_model.hpp"

#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

namespace skyline::model_export::test {

/// Writes the int8 files of a model, with what Skyline computes for these samples: NAME.int8.onnx,
/// NAME.tflite or the reason why there is none in NAME.refused, NAME.normalized (the samples),
/// NAME.int8_outputs, NAME.step (the difference of neighbouring outputs, float32).
/// @param images        [samples, channels, height, width], normalized; also the calibration samples
/// @param float_output  whether the output stays float32; its step is a 255th of the range then
void write_int8(const std::filesystem::path& folder, const std::string& name, const ExportedModel& model,
                const at::Tensor& images, bool float_output);

}  // namespace skyline::model_export::test

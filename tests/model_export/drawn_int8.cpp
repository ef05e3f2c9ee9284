#include "drawn_int8.hpp"

#include "skyline/core/error.hpp"

#include "space/quantized/int8_cost.hpp"
#include "space/quantized/int8_network.hpp"
#include "store/publish/publish.hpp"
#include "train/quantized/int8_forward.hpp"
#include "train/quantized/quantize.hpp"
#include "train/quantized/real_steps.hpp"

#include <ATen/ops/tensor.h>

namespace skyline::model_export::test {
namespace {

std::string bytes_of(const at::Tensor& values) {
  const at::Tensor dense = values.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()};
}

}  // namespace

void write_int8(const std::filesystem::path& folder, const std::string& name, const ExportedModel& model,
                const at::Tensor& images, bool float_output) {
  const auto publish = [&](const std::string& ending, const std::string& bytes) {
    store::publish_file(folder / (name + ending), bytes);
  };
  const auto& tensors = model.weights.tensors;
  const space::Int8Network int8 = train::quantize(model.network, tensors, images, float_output);
  const train::RealSteps real(model.network, int8.view, tensors);
  const train::Int8Forward forward(int8, real);
  const at::Tensor outputs =
      forward.run(images).mul(at::tensor(model.output_factor)).add(at::tensor(model.output_offset));
  publish(".normalized", bytes_of(images.contiguous(at::MemoryFormat::Contiguous)));
  publish(".int8_outputs", bytes_of(outputs));
  const auto& grid = int8.grids.at(int8.view.output);
  constexpr float kSteps = 255;
  publish(".step", bytes_of(grid ? at::tensor(model.output_factor.front() * grid->scale)
                                 : outputs.max().sub(outputs.min()).div(kSteps)));
  publish(".peak", std::to_string(space::int8_peak_activation_bytes(int8.view, model.network)));
  publish(".int8.onnx", onnx_int8_bytes(model, int8));
  try {
    publish(".tflite", tflite_bytes(model, int8));
  } catch (const UserError& error) {
    publish(".refused", error.what());
  }
}

}  // namespace skyline::model_export::test

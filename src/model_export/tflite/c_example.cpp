#include "model_export/tflite/c_example.hpp"

#include "model_export/tflite/c_text.hpp"

namespace skyline::model_export {
namespace {

constexpr const char* kExample =
    R"(// How a program runs the model by TFLite Micro (https://github.com/tensorflow/tflite-micro).
// Build it with @NAME@.c and the library. On an Arduino call begin() in setup() and run() in loop().
#include "@NAME@.h"

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/system_setup.h"
#include "tensorflow/lite/schema/schema_generated.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace {

using Resolver = tflite::MicroMutableOpResolver<@OPS@>;

alignas(16) std::uint8_t arena[@NAME@_arena_bytes];
tflite::MicroInterpreter* interpreter = nullptr;

// Links the operators of the model, and no others.
bool add_operators(Resolver& resolver) {
@ADDS@  return true;
}

// Makes the interpreter; call it once. Returns false if the library is older than the model, or if the
// arena is too small.
bool begin() {
  tflite::InitializeTarget();
  const tflite::Model* model = tflite::GetModel(@NAME@_model);
  static Resolver resolver;

  if (model->version() != TFLITE_SCHEMA_VERSION || !add_operators(resolver)) return false;
  static tflite::MicroInterpreter made(model, resolver, arena, sizeof arena);
  if (made.AllocateTensors() != kTfLiteOk) return false;
  interpreter = &made;
  return true;
}

// The whole number of a value of the data set.
std::int8_t whole_number(float value, int channel) {
  const float scaled = (value - @NAME@_input_offset[channel]) * @NAME@_input_factor[channel];
  const float number = std::nearbyint(scaled) + static_cast<float>(@NAME@_input_zero);
  return static_cast<std::int8_t>(std::fmax(-128.0F, std::fmin(127.0F, number)));
}

// Runs the model on one sample: rows, columns, channels. Writes @OUTPUT_MEANING@.
bool run(const float* sample, float* outputs) {
  std::int8_t* input = interpreter->input(0)->data.int8;
  constexpr int kValues = @NAME@_height * @NAME@_width * @NAME@_channels;
  for (int i = 0; i < kValues; ++i) input[i] = whole_number(sample[i], i % @NAME@_channels);

  if (interpreter->Invoke() != kTfLiteOk) return false;
  const TfLiteTensor* result = interpreter->output(0);
  for (int i = 0; i < @NAME@_outputs; ++i) {
@READ@  }
  return true;
}

}  // namespace

int main() {
  if (!begin()) {
    std::printf("the model does not start\n");
    return 1;
  }
  std::printf("arena: %u bytes of %u\n", static_cast<unsigned>(interpreter->arena_used_bytes()),
              static_cast<unsigned>(sizeof arena));
  static float sample[@NAME@_height * @NAME@_width * @NAME@_channels];  // values of a sensor or a camera
  float outputs[@NAME@_outputs];
  if (!run(sample, outputs)) {
    std::printf("the model does not run\n");
    return 1;
  }
  for (int i = 0; i < @NAME@_outputs; ++i) {
    std::printf("%s: %g\n", @NAME@_output_names[i], static_cast<double>(outputs[i]));
  }
  return 0;
}
)";

constexpr const char* kReadWhole = R"(    const int number = result->data.int8[i];
    outputs[i] = @NAME@_output_scale * static_cast<float>(number - @NAME@_output_zero);
)";

constexpr const char* kReadReal =
    R"(    outputs[i] = result->data.f[i] * @NAME@_output_factor[i] + @NAME@_output_offset[i];
)";

}  // namespace

std::string c_example(const std::string& name, const TfliteGraph& graph, const std::string& outputs,
                      bool is_whole) {
  std::string adds;
  for (const TfliteOp& op : graph.ops()) {
    adds += "  if (resolver.Add" + std::string(op.name) + "() != kTfLiteOk) return false;\n";
  }
  return filled(kExample, {{"NAME", name},
                           {"OPS", std::to_string(graph.ops().size())},
                           {"ADDS", adds},
                           {"OUTPUT_MEANING", outputs},
                           {"READ", filled(is_whole ? kReadWhole : kReadReal, {{"NAME", name}})}});
}

}  // namespace skyline::model_export

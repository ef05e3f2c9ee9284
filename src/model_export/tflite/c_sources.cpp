// A TFLite model as sources for a microcontroller.
#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "model_export/model/exported_model.hpp"
#include "model_export/tflite/c_text.hpp"
#include "model_export/tflite/tflite_model.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::model_export {
namespace {

constexpr const char* kHeader = R"(/* A trained network for TFLite Micro, written by Skyline.
 *
@FACTS@ */
#ifndef @GUARD@
#define @GUARD@

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of a .tflite file, @SIZE@ of them. */
extern const unsigned char @NAME@_model[];
extern const size_t @NAME@_model_size;

/* A sample lies in memory by rows, then columns, then channels.@SPECTROGRAM@ */
#define @NAME@_height @HEIGHT@
#define @NAME@_width @WIDTH@
#define @NAME@_channels @CHANNELS@

/* Value x of a channel, as in the data set (@INPUT@), is the number
 * round((x - input_offset[channel]) * input_factor[channel]) + input_zero, at least -128 and at most 127. */
extern const float @NAME@_input_offset[@CHANNELS@];
extern const float @NAME@_input_factor[@CHANNELS@];
#define @NAME@_input_zero (@INPUT_ZERO@)

@OUTPUT@#define @NAME@_outputs @OUTPUTS@
extern const char* const @NAME@_output_names[@OUTPUTS@];

/* Memory for TFLite Micro, rather too much: the interpreter's arena_used_bytes() says what it takes. */
#define @NAME@_arena_bytes @ARENA@

#ifdef __cplusplus
}
#endif

#endif
)";

constexpr const char* kWholeOutput =
    R"(/* An output is output_scale * (number - output_zero); @MEANING@. */
#define @NAME@_output_scale @OUTPUT_SCALE@
#define @NAME@_output_zero (@OUTPUT_ZERO@)
)";

constexpr const char* kRealOutput =
    R"(/* Output i, a float, is value * output_factor[i] + output_offset[i]@TRANSFORM@. */
extern const float @NAME@_output_factor[@OUTPUTS@];
extern const float @NAME@_output_offset[@OUTPUTS@];
)";

constexpr const char* kSource = R"(#include "@NAME@.h"

#include <stdalign.h>

alignas(16) const unsigned char @NAME@_model[] = {
@BYTES@};
const size_t @NAME@_model_size = sizeof @NAME@_model;

const float @NAME@_input_offset[@CHANNELS@] = @OFFSETS@;
const float @NAME@_input_factor[@CHANNELS@] = @FACTORS@;
@OUTPUT_VALUES@const char* const @NAME@_output_names[@OUTPUTS@] = {@NAMES@};
)";

constexpr const char* kRealValues = R"(const float @NAME@_output_factor[@OUTPUTS@] = @OUTPUT_FACTORS@;
const float @NAME@_output_offset[@OUTPUTS@] = @OUTPUT_OFFSETS@;
)";

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

using Values = std::vector<std::pair<std::string, std::string>>;

std::string transform_text(store::TargetColumn::Transform transform) {
  using Transform = store::TargetColumn::Transform;
  if (transform == Transform::kNone) return "";
  return transform == Transform::kLog1p ? ", then exp() of that less 1" : ", then exp() of that";
}

std::string facts_of(const Metadata& metadata) {
  std::string lines;
  for (const auto& [name, value] : metadata) {
    lines += " * " + c_comment(name) + ": " + c_comment(value) + "\n";
  }
  return lines;
}

/// Returns a fact of the metadata, or `otherwise` if there is none of that name.
std::string fact_of(const Metadata& metadata, std::string_view name, const std::string& otherwise) {
  const auto found = std::ranges::find(metadata, name, [](const auto& each) { return each.first; });
  return found == metadata.end() ? otherwise : found->second;
}

/// Says how a sample is made of a sound; an empty text for models that take no spectrograms.
std::string spectrogram_text(const Metadata& metadata) {
  const std::string preparation = fact_of(metadata, "preparation", "");
  const auto made = preparation.empty() ? std::nullopt : store::read_preparation(preparation).log_mel;
  if (!made) return {};
  using std::to_string;
  const auto hertz = [](double number) {
    std::string text = c_float(static_cast<float>(number));
    text.pop_back();  // the sign of a float in C
    return text;
  };
  return "\n * Column t of the spectrogram is of samples t * " + to_string(made->hop) + " to t * " +
         to_string(made->hop) + " + " + to_string(made->window - 1) + " of a sound at " +
         to_string(made->rate) + " Hz, from -1 to 1, times\n * 0.5 - 0.5 cos(2 pi n / " +
         to_string(made->window) + "). Of their discrete Fourier transform of length " +
         to_string(made->fft) +
         " the squared magnitudes are summed\n * by triangles over frequencies, with corners at " +
         to_string(made->bands + 2) + " equal distances in mel, 2595 log10(1 + Hz / 700), from\n * " +
         hertz(made->low) + " to " + hertz(made->high) +
         " Hz: a row each, the lowest first. Its value is ln(sum + 1e-6).";
}

bool has_labels(const ExportedModel& model) {
  return fact_of(model.metadata, "targets", "") == store::to_text(store::TargetKind::kLabels);
}

/// Returns numbers of each channel or output; `neutral` for all if there are none.
std::vector<float> or_neutral(const std::vector<float>& numbers, std::int64_t count, float neutral) {
  return numbers.empty() ? std::vector<float>(static_cast<std::size_t>(count), neutral) : numbers;
}

Values input_values(const ExportedModel& model, const space::Int8Grid& grid) {
  const std::int64_t channels = model.network.input.channels;
  std::vector<float> factors = or_neutral(model.factor, channels, 1);
  for (float& factor : factors) factor /= grid.scale;
  return {{"INPUT", c_comment(fact_of(model.metadata, "input", "values as stored"))},
          {"SPECTROGRAM", spectrogram_text(model.metadata)},
          {"HEIGHT", std::to_string(model.network.input.height)},
          {"WIDTH", std::to_string(model.network.input.width)},
          {"CHANNELS", std::to_string(channels)},
          {"INPUT_ZERO", std::to_string(grid.zero)},
          {"OFFSETS", c_floats(or_neutral(model.offset, channels, 0))},
          {"FACTORS", c_floats(factors)}};
}

Values output_values(const ExportedModel& model, const std::optional<space::Int8Grid>& grid,
                     const std::vector<std::string>& names) {
  const std::int64_t outputs = model.network.layers.back().output.elements();
  require(std::ssize(names) == outputs, "an exported network has other outputs than the data set");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + c_literal(name);
  return {{"OUTPUTS", std::to_string(outputs)},
          {"NAMES", list},
          {"MEANING", has_labels(model) ? "a label applies where the number is above output_zero"
                                        : "the largest number is the class"},
          {"OUTPUT_SCALE", grid ? c_float(grid->scale) : ""},
          {"OUTPUT_ZERO", grid ? std::to_string(grid->zero) : ""},
          {"OUTPUT_FACTORS", c_floats(or_neutral(model.output_factor, outputs, 1))},
          {"OUTPUT_OFFSETS", c_floats(or_neutral(model.output_offset, outputs, 0))},
          {"TRANSFORM", transform_text(model.output_transform)}};
}

/// Returns a program in C++ that runs a model by TFLite Micro, with the operators that the model has.
/// @param name      of the model's header
/// @param outputs   what the program writes, in the words of a comment
/// @param is_whole  false if the output is float32
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

}  // namespace

CSources c_sources(const ExportedModel& model, const space::Int8Network& int8, const std::string& name,
                   const std::vector<std::string>& output_names) {
  const TfliteModel tflite = tflite_model(model.network, int8);
  const std::optional<space::Int8Grid>& output = int8.grids.at(int8.view.output);
  std::string guard = name + "_H";
  std::ranges::transform(guard, guard.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const std::size_t arena =
      tflite.graph.plan(tflite.input, tflite.output).bytes + tflite.graph.runtime_bytes();
  const std::string bytes = tflite_bytes(model, int8);
  Values values{{"NAME", name},
                {"GUARD", guard},
                {"FACTS", facts_of(model.metadata)},
                {"ARENA", std::to_string(arena)},
                {"SIZE", std::to_string(bytes.size())},
                {"BYTES", c_bytes(bytes)}};
  for (const auto& more :
       {input_values(model, int8.grids.front().value()), output_values(model, output, output_names)}) {
    values.insert(values.end(), more.begin(), more.end());
  }
  values.emplace_back("OUTPUT", filled(output ? kWholeOutput : kRealOutput, values));
  values.emplace_back("OUTPUT_VALUES", output ? "" : filled(kRealValues, values));
  const std::string outputs = !output             ? "the numbers as the header says"
                              : has_labels(model) ? "the logits: a label applies where its one is above 0"
                                                  : "the logits: the largest one is that of the class";
  return {filled(kHeader, values), filled(kSource, values),
          c_example(name, tflite.graph, outputs, output.has_value()), bytes.size()};
}

}  // namespace skyline::model_export

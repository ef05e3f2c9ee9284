#include "app/models/teacher_outputs.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "app/models/evaluation.hpp"
#include "app/models/model_data.hpp"
#include "app/models/onnx_model.hpp"
#include "app/prep/prep_process.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/preparation.hpp"
#include "train/scoring/scored_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <utility>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

using store::TargetKind;

/// A model that says the outputs for the test set of a data set: [samples, outputs], valid until the next
/// call.
struct Sayer {
  SampleNeeds needs;
  std::string name;
  std::function<std::span<const float>(const std::shared_ptr<const store::Dataset>& samples)> outputs_for;
};

Sayer trial_of(const TeacherSource& source) {
  if (source.choice.trials.size() != 1) throw UserError("--run: expected one --trial NUMBER beside it");
  const auto run = std::make_shared<ModelSource>(ModelSource::open(source.choice.run));
  const auto model = std::make_shared<SelectedModel>(
      select_model(*run, chosen_trials(run->run, source.choice).front(), source.choice));
  return {.needs = {.data = run->data},
          .name = source.choice.run.string() + ", trial " + std::to_string(source.choice.trials.front()),
          .outputs_for = [run, model, said = std::vector<float>()](const auto& samples) mutable {
            said = outputs_of(*run, *model, samples).outputs;
            return std::span<const float>(said);
          }};
}

Sayer onnx_of(const TeacherSource& source) {
  const auto model = std::make_shared<OnnxModel>(OnnxModel::open(source.onnx));
  return {
      .needs = model->needs(),
      .name = source.onnx.string(),
      .outputs_for = [model, unit = source.unit, said = std::vector<float>()](const auto& samples) mutable {
        said = model->outputs_for(*samples, unit);
        return std::span<const float>(said);
      }};
}

/// Reads an array of people, in a process of its own.
std::vector<float> read_array(const fs::path& file, std::size_t rows, std::size_t outputs) {
  const HeldSignals signals;
  const TemporaryFolder folder(temporary_root(), "skyline-");
  const fs::path written = folder.path() / "outputs";
  const PrepCall call{
      .title = "prep teacher",
      .arguments = {"infer", "npy", "--rows=" + std::to_string(rows), "--each=" + std::to_string(outputs),
                    "--outputs=" + written.string(), "--", file.string()}};
  (void)run_prep(call, folder.path(), signals);
  std::vector<float> values(rows * outputs);
  std::ifstream stream(written, std::ios::binary);
  stream.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
  require(stream.good() && stream.peek() == std::ifstream::traits_type::eof(),
          "python/skyline/prep writes all outputs");
  return values;
}

/// Says the rows of an array, part after part.
Sayer array_of(const TeacherSource& source, const store::Dataset& dataset) {
  const std::size_t outputs = dataset.class_names().size();
  const std::size_t rows = dataset.train().count + dataset.validation().count;
  const auto values = std::make_shared<const std::vector<float>>(read_array(source.array, rows, outputs));
  SampleNeeds needs{.data = {}, .owner = "the data"};
  needs.data.shape = dataset.shape();
  return {.needs = needs,
          .name = source.array.string(),
          .outputs_for = [values, outputs, begin = std::size_t{0}](const auto& samples) mutable {
            const std::size_t count = samples->test().count * outputs;
            return std::span<const float>(*values).subspan(std::exchange(begin, begin + count), count);
          }};
}

Sayer sayer_of(const TeacherSource& source, const store::Dataset& dataset) {
  const int named =
      (source.choice.run.empty() ? 0 : 1) + (source.onnx.empty() ? 0 : 1) + (source.array.empty() ? 0 : 1);
  if (named != 1) {
    throw UserError("expected one of --run RUN --trial NUMBER, --onnx FILE and --outputs FILE, got " +
                    std::to_string(named) + " of them");
  }
  if (!source.choice.run.empty()) return trial_of(source);
  return source.onnx.empty() ? array_of(source, dataset) : onnx_of(source);
}

/// Returns whether rows are probabilities of exclusive classes.
bool are_shares(std::span<const float> outputs, std::size_t each) {
  constexpr float kRounding = 1e-3F;
  for (std::size_t row = 0; row < outputs.size(); row += each) {
    float sum = 0;
    for (const float output : outputs.subspan(row, each)) {
      if (output < 0) return false;
      sum += output;
    }
    if (!(std::abs(sum - 1) < kRounding)) return false;
  }
  return true;
}

/// Returns whether outputs are probabilities instead of logits.
bool are_probabilities(TargetKind targets, std::span<const float> outputs, std::size_t each) {
  if (targets == TargetKind::kLabels)
    return std::ranges::all_of(outputs, [](float output) { return output >= 0 && output <= 1; });
  return targets == TargetKind::kClasses && each > 1 && are_shares(outputs, each);
}

/// Returns the logit that has a probability, a finite one for 0 and 1, too.
float logit_of(TargetKind targets, float probability) {
  if (targets == TargetKind::kClasses)
    return std::log(std::max(probability, std::numeric_limits<float>::min()));
  constexpr double kLeast = 1e-7;
  const double inside = std::clamp(static_cast<double>(probability), kLeast, 1 - kLeast);
  return static_cast<float>(std::log(inside / (1 - inside)));
}

/// Brings numbers to the scale of the data set's targets, and refuses outputs that are not finite.
/// @param part  for messages
void bring_to_scale(const Sayer& sayer, const std::string& part, const store::Dataset& dataset,
                    std::span<float> outputs) {
  const store::TargetColumn unscaled;
  const std::vector<store::TargetColumn> columns = train::number_columns(dataset);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto said = static_cast<double>(outputs[i]);
    const store::TargetColumn& column = columns.empty() ? unscaled : columns[i % columns.size()];
    outputs[i] = static_cast<float>(column.stored(said));
    if (std::isfinite(outputs[i])) continue;
    const std::string transform(to_text(column.transform));
    throw UserError(
        sayer.name + ": its output for sample " + std::to_string(i / dataset.class_names().size()) +
        " (from 0) of `" + part + "` is " + objective::number_text(said) +
        (std::isfinite(said) && !transform.empty()
             ? ", which has no logarithm, and the data have those of their targets (" + transform + ")"
             : ", expected a finite number"));
  }
}

}  // namespace

TaughtData taught_data(const TeacherSource& source, const fs::path& file, const store::Dataset& dataset) {
  const Sayer sayer = sayer_of(source, dataset);
  const TargetKind targets = dataset.train().target_kind();
  TaughtData taught{.outputs = {}, .source = sayer.name, .scores = {}};
  std::vector<std::shared_ptr<const store::Dataset>> parts;
  for (const store::Part part : {store::Part::kTrain, store::Part::kValidation}) {
    const std::string name = to_text(part);
    if (part == store::Part::kValidation && dataset.validation().count == 0) continue;
    const auto samples =
        open_model_data(sayer.needs, {.sources = {file}, .kind = {}, .options = {}, .part = name}, true);
    if (samples->class_names() != dataset.class_names()) {
      throw UserError(file.string() + ": its outputs are not those of " + sayer.name +
                      " in the same order: expected the names " + joined(samples->class_names()));
    }
    const std::span<const float> outputs = sayer.outputs_for(samples);
    taught.outputs.insert(taught.outputs.end(), outputs.begin(), outputs.end());
    taught.scores.push_back({name, samples->test().count, {}});
    parts.push_back(samples);
  }
  // A trial says logits, whatever they look like.
  taught.from_shares =
      source.choice.run.empty() && are_probabilities(targets, taught.outputs, dataset.class_names().size());
  if (taught.from_shares)
    for (float& output : taught.outputs) output = logit_of(targets, output);
  const auto metrics = train::named_metrics({}, targets);
  std::span<float> rest = taught.outputs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::span<float> part = rest.first(taught.scores[i].samples * dataset.class_names().size());
    std::vector<float> said;  // metrics take numbers in the unit of their source
    if (targets == TargetKind::kNumbers) said.assign(part.begin(), part.end());
    bring_to_scale(sayer, taught.scores[i].part, dataset, part);
    taught.scores[i].metrics = train::score_outputs(metrics, *parts[i], said.empty() ? part : said);
    rest = rest.subspan(part.size());
  }
  return taught;
}

}  // namespace skyline::app

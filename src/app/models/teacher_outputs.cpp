#include "app/models/teacher_outputs.hpp"

#include "skyline/core/error.hpp"

#include "app/models/evaluation.hpp"
#include "app/models/model_data.hpp"
#include "app/models/onnx_model.hpp"
#include "app/prep/prep_process.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/system/temporary_root.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/preparation.hpp"
#include "store/publish/publish.hpp"
#include "train/scoring/scored_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <span>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

using store::TargetKind;

/// A model that says the outputs for the test set of a data set: [samples, outputs].
struct Sayer {
  SampleNeeds needs;
  std::string name;
  std::function<std::vector<float>(const std::shared_ptr<const store::Dataset>& samples)> outputs_for;
};

Sayer trial_of(const TeacherSource& source) {
  if (source.choice.trials.size() != 1) throw UserError("--run: expected one --trial NUMBER beside it");
  const auto run = std::make_shared<ModelSource>(ModelSource::open(source.choice.run));
  const auto model = std::make_shared<SelectedModel>(
      select_model(*run, chosen_trials(run->run, source.choice).front(), source.choice));
  return {
      .needs = {.data = run->data},
      .name = source.choice.run.string() + ", trial " + std::to_string(source.choice.trials.front()),
      .outputs_for = [run, model](const auto& samples) { return outputs_of(*run, *model, samples).outputs; }};
}

Sayer onnx_of(const TeacherSource& source) {
  const auto model = std::make_shared<OnnxModel>(OnnxModel::open(source.onnx));
  return {.needs = model->needs(),
          .name = source.onnx.string(),
          .outputs_for = [model, unit = source.unit](const auto& samples) {
            return model->outputs_for(*samples, unit);
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
  const std::string bytes = store::read_file(written);
  require(bytes.size() == values.size() * sizeof(float), "python/skyline/prep writes all outputs");
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Says the rows of an array, part after part.
Sayer array_of(const TeacherSource& source, const store::Dataset& dataset) {
  const std::size_t outputs = dataset.class_names().size();
  const std::size_t rows = dataset.train().count + dataset.validation().count;
  const auto values = std::make_shared<std::vector<float>>(read_array(source.array, rows, outputs));
  SampleNeeds needs{.data = {}, .owner = "the data"};
  needs.data.shape = dataset.shape();
  return {
      .needs = needs, .name = source.array.string(), .outputs_for = [values, outputs](const auto& samples) {
        const auto end = values->begin() + static_cast<std::ptrdiff_t>(samples->test().count * outputs);
        std::vector<float> part(values->begin(), end);
        values->erase(values->begin(), end);
        return part;
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

/// Brings outputs to what the trainer reads: logits, or numbers in the scale of the data set's targets.
void bring_to_scale(const store::Dataset& dataset, TaughtData& taught) {
  const TargetKind targets = dataset.train().target_kind();
  std::vector<float>& outputs = taught.outputs;
  const std::size_t each = dataset.class_names().size();
  if (targets == TargetKind::kClasses && each > 1 && are_shares(outputs, each)) {
    taught.from_shares = true;
    for (float& output : outputs) output = std::log(std::max(output, std::numeric_limits<float>::min()));
  }
  if (targets != TargetKind::kNumbers || dataset.preparation().empty()) return;
  const auto columns = store::read_preparation(dataset.preparation()).targets;
  for (std::size_t i = 0; !columns.empty() && i < outputs.size(); ++i) {
    outputs[i] = static_cast<float>(columns[i % columns.size()].stored(static_cast<double>(outputs[i])));
  }
}

/// Refuses outputs that are no numbers.
void check_finite(const Sayer& sayer, std::span<const float> outputs, const std::string& part,
                  std::size_t each) {
  const auto wrong = std::ranges::find_if_not(outputs, [](float output) { return std::isfinite(output); });
  if (wrong == outputs.end()) return;
  const auto sample = static_cast<std::size_t>(wrong - outputs.begin()) / each;
  throw UserError(sayer.name + ": its output for sample " + std::to_string(sample) + " (from 0) of `" + part +
                  "` is " + std::to_string(*wrong) + ", expected a finite number");
}

}  // namespace

TaughtData taught_data(const TeacherSource& source, const fs::path& file, const store::Dataset& dataset) {
  const Sayer sayer = sayer_of(source, dataset);
  const auto metrics = train::named_metrics({}, dataset.train().target_kind());
  TaughtData taught{.outputs = {}, .source = sayer.name, .scores = {}};
  for (const store::Part part : {store::Part::kTrain, store::Part::kValidation}) {
    const std::string name = to_text(part);
    if (part == store::Part::kValidation && dataset.validation().count == 0) continue;
    const auto samples =
        open_model_data(sayer.needs, {.sources = {file}, .kind = {}, .options = {}, .part = name}, true);
    if (samples->class_names() != dataset.class_names()) {
      throw UserError(file.string() + ": its outputs are not those of " + sayer.name +
                      " in the same order: expected the names " + joined(samples->class_names()));
    }
    const std::vector<float> outputs = sayer.outputs_for(samples);
    check_finite(sayer, outputs, name, dataset.class_names().size());
    taught.scores.push_back({name, samples->test().count, train::score_outputs(metrics, *samples, outputs)});
    taught.outputs.insert(taught.outputs.end(), outputs.begin(), outputs.end());
  }
  bring_to_scale(dataset, taught);
  return taught;
}

}  // namespace skyline::app

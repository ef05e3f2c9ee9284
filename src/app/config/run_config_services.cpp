#include "app/config/exported_network.hpp"
#include "app/config/run_config.hpp"
#include "model_export/model/exported_model.hpp"
#include "store/publish/publish.hpp"

#include <filesystem>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

/// Writes the network of an architecture as a PyTorch module that says which one it is.
void write_network(const space::SearchSpace& space, const space::Architecture& architecture,
                   const std::filesystem::path& file) {
  const store::WeightsFile none;
  store::publish_file(
      file, model_export::pytorch_source(
                {architecture.network(), none, {}, {}, network_metadata(space, architecture, {})}, ""));
}

/// Exports a trained network in the formats that have a path.
void write_model(const space::SearchSpace& space, const DataOptions& data,
                 const space::Architecture& architecture, std::vector<trial::NamedTensor> weights,
                 const evaluate::ModelFiles& files) {
  store::WeightsFile trained;
  trained.tensors = std::move(weights);
  const model_export::ExportedModel model =
      exported_network(architecture.network(), trained, data, network_metadata(space, architecture, data));
  if (!files.onnx.empty()) store::publish_file(files.onnx, model_export::onnx_bytes(model));
  if (!files.weights.empty()) store::publish_file(files.weights, model_export::safetensors_bytes(model));
  if (!files.pytorch.empty()) {
    store::publish_file(files.pytorch,
                        model_export::pytorch_source(model, files.weights.filename().string()));
  }
}

/// Returns the constraints on measured metrics.
std::vector<evaluate::MetricBound> bounds_of(const objective::ObjectiveSet& objectives) {
  std::vector<evaluate::MetricBound> bounds;
  for (const objective::Constraint& constraint : objectives.constraints()) {
    if (!constraint.computed) bounds.push_back({constraint.metric, {constraint.low, constraint.high}});
  }
  return bounds;
}

}  // namespace

evaluate::EvaluatorServices RunConfig::services() const {
  const std::string& file = sections.data.file;
  return {.dataset = dataset,
          .split = split,
          .normalization = sections.data.normalization,
          .seed = sections.run.seed,
          .wanted = objectives.measured_needed(),
          .bounds = bounds_of(objectives),
          .memory_bytes = sections.run.memory_bytes,
          .space = space,
          .data_file = file.empty() ? std::filesystem::path() : std::filesystem::absolute(file),
          .write_network = [space = space](
                               const space::Architecture& architecture,
                               const std::filesystem::path& to) { write_network(space, architecture, to); },
          .write_model =
              [space = space, data = sections.data](const space::Architecture& architecture,
                                                    std::vector<trial::NamedTensor> weights,
                                                    const evaluate::ModelFiles& to) {
                write_model(space, data, architecture, std::move(weights), to);
              },
          .written = evaluator.written};
}

}  // namespace skyline::app

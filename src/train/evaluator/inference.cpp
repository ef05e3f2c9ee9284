#include "train/evaluator/inference.hpp"

#include "train/batches/training_setup.hpp"
#include "train/learner/learner.hpp"
#include "train/parameters/parameter_store.hpp"
#include "train/quantized/int8_scoring.hpp"
#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace skyline::train {
namespace {

/// Returns the options without what needs training samples.
TrainingOptions inference_options(const ConfigNode& section) {
  TrainingOptions options = TrainingOptions::table().parse(section);
  options.loss.reset();  // the loss may need counts of classes that these samples do not have
  options.augment = {};
  options.teacher.reset();
  return options;
}

/// Returns the setup of a training without training samples: all sets are the test set.
TrainingSetup setup_of(comm::Environment& job, const InferenceTask& task) {
  std::vector<std::int64_t> indices(task.dataset->test().count);
  std::iota(indices.begin(), indices.end(), 0);
  TrainingOptions options = inference_options(task.section);
  if (task.int8 != nullptr) options.device = DeviceChoice::kCpu;
  return make_setup(job, std::move(options), task.dataset, {indices, indices}, task.normalization);
}

}  // namespace

InferenceResult infer(comm::Environment& job, const InferenceTask& task) {
  const TrainingSetup setup = setup_of(job, task);
  trial::Trial trial;
  trial.proposal.architecture = task.architecture;
  Learner learner(setup, trial);
  learner.import_tensors(task.tensors);
  std::optional<Int8Scoring> int8;
  if (task.int8 != nullptr) int8.emplace(setup, task.architecture->network(), task.tensors, *task.int8);
  const std::size_t outputs = setup.options.problem.outputs;
  Scorer scorer(setup.options.metrics, task.dataset->test(), outputs, setup.columns);
  InferenceResult result;
  const std::span<const std::int64_t> indices(setup.test_indices);
  for (std::size_t first = 0; first < indices.size(); first += learner.evaluation_batch()) {
    const auto batch = indices.subspan(first, std::min(learner.evaluation_batch(), indices.size() - first));
    const ScoredBatch scored =
        int8 ? int8->score(SampleSet::kTest, batch) : learner.score(SampleSet::kTest, batch);
    scorer.add(batch, scored.loss_sum, scored.outputs);
    result.outputs.insert(result.outputs.end(), scored.outputs.begin(), scored.outputs.end());
  }
  const Score score = scorer.score();
  for (std::size_t i = 0; i < setup.options.metrics.size(); ++i) {
    result.metrics.emplace_back(setup.options.metrics[i].name, score.metrics[i]);
  }
  return result;
}

space::Int8Network quantize(comm::Environment& job, const QuantizationTask& task) {
  TrainingOptions options = inference_options(task.section);
  options.device = DeviceChoice::kCpu;
  TrainingSetup setup =
      make_setup(job, std::move(options), task.dataset, {task.samples, task.samples}, task.normalization);
  setup.calibration = task.samples;
  return quantize(setup, task.architecture->network(), task.tensors);
}

std::vector<trial::NamedTensor> initial_tensors(const space::Network& network, std::uint64_t seed) {
  return ParameterStore(network, seed).export_tensors();
}

}  // namespace skyline::train

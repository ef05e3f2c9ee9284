#include "train/evaluator/inference.hpp"

#include "train/batches/training_setup.hpp"
#include "train/learner/learner.hpp"
#include "train/parameters/parameter_store.hpp"
#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <numeric>

namespace skyline::train {
namespace {

/// Returns the setup of a training without training samples: all sets are the test set.
TrainingSetup setup_of(comm::Environment& job, const InferenceTask& task) {
  TrainingOptions options = TrainingOptions::table().parse(task.section);
  options.loss.reset();  // the loss may need counts of classes that these samples do not have
  options.augment = {};
  std::vector<std::int64_t> indices(task.dataset->test().count);
  std::iota(indices.begin(), indices.end(), 0);
  return make_setup(job, std::move(options), task.dataset, {indices, indices}, task.normalization);
}

}  // namespace

InferenceResult infer(comm::Environment& job, const InferenceTask& task) {
  const TrainingSetup setup = setup_of(job, task);
  trial::Trial trial;
  trial.proposal.architecture = task.architecture;
  Learner learner(setup, trial);
  learner.import_tensors(task.tensors);
  const std::size_t outputs = setup.options.problem.outputs;
  Scorer scorer(setup.options.metrics, task.dataset->test(), outputs, setup.columns);
  InferenceResult result;
  const std::span<const std::int64_t> indices(setup.test_indices);
  for (std::size_t first = 0; first < indices.size(); first += learner.evaluation_batch()) {
    const auto batch = indices.subspan(first, std::min(learner.evaluation_batch(), indices.size() - first));
    const ScoredBatch scored = learner.score(SampleSet::kTest, batch);
    scorer.add(batch, scored.loss_sum, scored.outputs);
    result.outputs.insert(result.outputs.end(), scored.outputs.begin(), scored.outputs.end());
  }
  const Score score = scorer.score();
  for (std::size_t i = 0; i < setup.options.metrics.size(); ++i) {
    result.metrics.emplace_back(setup.options.metrics[i].name, score.metrics[i]);
  }
  return result;
}

std::vector<trial::NamedTensor> initial_tensors(const space::Network& network, std::uint64_t seed) {
  return ParameterStore(network, seed).export_tensors();
}

}  // namespace skyline::train

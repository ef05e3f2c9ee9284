#include "train/course/inference.hpp"

#include "comm/environment.hpp"
#include "train/course/learner.hpp"
#include "train/course/training_check.hpp"
#include "train/course/training_setup.hpp"
#include "train/loading/device_choice.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/scoring/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/Parallel.h>

namespace skyline::train {
namespace {

/// The setting of a training that has no training samples of its own: all sets are the test set.
TrainingSetup make_setup(comm::Environment& job, const InferenceTask& task) {
  TrainingOptions options = TrainingOptions::table().parse(task.section);
  options.loss.reset();  // may ask for counts of classes that these samples do not have
  options.augment = {};
  DeviceUse device = choose_device(job, {.choice = options.device}, load_accelerator);
  if (device.accelerator == nullptr) {
    device = {make_host_accelerator(Kernels::kOwn), 0};
    if (options.precision == Precision::kTf32) options.precision = Precision::kFp32;
  }
  at::set_num_threads(options.threads);
  std::vector<std::int64_t> indices(task.dataset->test().count);
  std::iota(indices.begin(), indices.end(), 0);
  store::SplitIndices split{indices, indices};
  const ValueScaling scaling(*task.dataset, task.normalization);
  auto context = std::make_shared<DeviceContext>(device, task.dataset, scaling);
  context->set_precision(options.precision);
  return {fit_to_data(options, *task.dataset, split),
          task.dataset,
          std::move(split),
          scaling,
          false,
          std::move(indices),
          std::move(device),
          std::move(context)};
}

}  // namespace

InferenceResult infer(comm::Environment& job, const InferenceTask& task) {
  const TrainingSetup setup = make_setup(job, task);
  trial::Trial trial;
  trial.proposal.architecture = task.architecture;
  Learner learner(setup, trial);
  learner.import_tensors(task.tensors);
  const std::size_t outputs = setup.options.problem.outputs;
  Scorer scorer(setup.options.metrics, task.dataset->test(), outputs);
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

std::vector<double> to_answers(std::span<const float> outputs, store::TargetKind targets) {
  std::vector<double> answers(outputs.begin(), outputs.end());
  if (targets == store::TargetKind::kLabels) {
    for (double& answer : answers) answer = 1 / (1 + std::exp(-answer));
  } else if (targets == store::TargetKind::kClasses) {
    const double largest = *std::ranges::max_element(answers);
    for (double& answer : answers) answer = std::exp(answer - largest);
    const double sum = std::accumulate(answers.begin(), answers.end(), 0.0);
    for (double& answer : answers) answer /= sum;
  }
  return answers;
}

}  // namespace skyline::train

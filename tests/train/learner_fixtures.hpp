#pragma once

#include "train/batches/device_context.hpp"
#include "train/course/trial_run.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/group_fixtures.hpp"
#include "train/learner/learner.hpp"
#include "train/options/training_check.hpp"
#include "train/train_fixtures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

/// Learners by themselves, step by step.
namespace skyline::train::test {

inline constexpr std::size_t kSamples = 203;  // in batches of 16: 13 steps an epoch, the last one smaller

/// Everything is recorded, and soon, so that short trials show it.
inline RecordingPolicy soon() {
  RecordingPolicy policy;
  policy.runs_before = 2;
  policy.least_steps = 1;
  policy.least_burst_steps = 1;
  policy.least_batches = 1;
  return policy;
}

inline const std::shared_ptr<const store::Dataset>& learner_images() {
  static const std::shared_ptr<const store::Dataset> data =
      std::make_shared<BarImages>(space::Shape{2, 8, 8}, 6, 800, 60);
  return data;
}

/// @param accelerator  nullptr: the host's own training
inline TrainingSetup make_setup(const TrainingOptions& options, std::shared_ptr<Accelerator> accelerator) {
  const ValueScaling scaling(*learner_images(), Normalization::kStandard);
  const store::SplitIndices split = split_in_two(kSamples, 590);
  TrainingSetup setup{fit_to_data(options, *learner_images(), split),
                      learner_images(),
                      split,
                      scaling,
                      false,
                      {},
                      {},
                      nullptr};
  if (!options.problem.counts.empty()) setup.options.problem.counts = options.problem.counts;
  setup.test_indices.resize(60);
  std::iota(setup.test_indices.begin(), setup.test_indices.end(), 0);
  if (accelerator == nullptr) accelerator = make_host_accelerator(Kernels::kOwn);
  setup.on_device =
      std::make_shared<DeviceContext>(DeviceUse{std::move(accelerator), 0}, learner_images(), scaling);
  setup.on_device->set_precision(options.precision);
  return setup;
}

template <typename... Rest>
std::unique_ptr<Learner> make_learner(const TrainingSetup& setup, const trial::Trial& trial, Rest&&... rest) {
  return std::make_unique<Learner>(setup, trial, std::forward<Rest>(rest)...);
}

/// Does the first steps of a trial, looking at the losses as often as the learner wants it.
inline std::vector<double> train(Learner& learner, const TrainingSetup& setup, const trial::Trial& trial,
                                 std::int64_t first_step, std::int64_t steps) {
  at::set_num_threads(1);
  const std::int64_t epoch_steps = steps_per_epoch(kSamples, setup.options.batch);
  const auto batch = static_cast<std::size_t>(setup.options.batch);
  std::vector<double> losses;
  std::vector<std::int64_t> order;
  std::int64_t ahead = 0;
  for (std::int64_t step = first_step; step < first_step + steps; ++step) {
    const std::int64_t place = step % epoch_steps;
    if (place == 0 || step == first_step) {
      const auto epoch = static_cast<std::uint64_t>(step / epoch_steps);
      order = epoch_order(setup.split.train, trial.seed, epoch);
      learner.begin_epoch(epoch, order);
    }
    const std::size_t first = static_cast<std::size_t>(place) * batch;
    learner.step(first, std::min(batch, order.size() - first));
    const bool last = place + 1 == epoch_steps || step + 1 == first_step + steps;
    if (++ahead == learner.most_steps_ahead() || last) {
      ahead = 0;
      const auto part = learner.losses();
      losses.insert(losses.end(), part.begin(), part.end());
    }
  }
  return losses;
}

inline TrainingOptions options_with(OptimizerOptions::Kind kind) {
  TrainingOptions options;
  options.batch = 16;
  options.optimizer.kind = kind;
  options.optimizer.learning_rate = kind == OptimizerOptions::Kind::kAdam ? 0.005 : 0.05;
  options.latency = {1, 2, 3};
  return options;
}

inline TrainingOptions adam() {
  return options_with(OptimizerOptions::Kind::kAdam);
}

inline TrainingOptions sgd() {
  return options_with(OptimizerOptions::Kind::kSgd);
}

inline bool same_values(const std::vector<trial::NamedTensor>& left,
                        const std::vector<trial::NamedTensor>& right) {
  return std::ranges::equal(left, right, [](const auto& a, const auto& b) { return a.values == b.values; });
}

/// What a learner ends with.
struct Trained {
  std::vector<double> losses;
  std::vector<trial::NamedTensor> tensors;
};

inline Trained train_on_device(const TrainingOptions& options, const trial::Trial& trial, std::int64_t steps,
                               const RecordingPolicy& policy,
                               std::shared_ptr<Accelerator> accelerator = make_host_accelerator()) {
  const TrainingSetup setup = make_setup(options, std::move(accelerator));
  const auto learner = make_learner(setup, trial, nullptr, policy);
  Trained trained;
  trained.losses = train(*learner, setup, trial, 0, steps);
  trained.tensors = learner->export_tensors();
  return trained;
}

/// The state of each member of a group after some steps; the leader's is the whole state.
struct GroupEnd {
  std::vector<double> losses;  // sums over the members
  std::vector<trial::TrainingState> states;
};

/// Steps of a trial from a state, or from the beginning; members share a device, or each has the host's.
struct GroupCourse {
  std::int64_t first_step = 0;
  std::int64_t steps = 15;
  const trial::TrainingState* start = nullptr;
  std::shared_ptr<Accelerator> accelerator = nullptr;
  space::Network network = every_layer();
};

inline constexpr BucketSizes kSmallBuckets{64, 1024};

inline GroupEnd train_group(const TrainingOptions& options, std::size_t members, const BucketSizes& buckets,
                            const RecordingPolicy& policy = soon(), const GroupCourse& course = {}) {
  GroupEnd end;
  end.states.resize(members);
  trial::Trial trial = make_trial(course.network, 3, 5);
  trial.members = static_cast<std::uint32_t>(members);
  std::vector<std::vector<double>> losses(members);
  run_members(members, [&](std::size_t member, trial::TrialGroup& group) {
    const TrainingSetup setup =
        make_setup(options, course.accelerator ? course.accelerator : make_host_accelerator());
    const auto learner = make_learner(setup, trial, &group, policy, buckets);
    if (course.start != nullptr) {
      EXPECT_TRUE(learner->load_state(*course.start));
    }
    losses[member] = train(*learner, setup, trial, course.first_step, course.steps);
    learner->collect_state();
    if (member == 0) learner->save_state(end.states[member]);
    end.states[member].arrays.resize(2);
    for (const auto& tensor : learner->export_tensors()) {
      auto& values = end.states[member].arrays.emplace_back().values;
      values = tensor.values;
    }
  });
  end.losses = losses[0];
  for (std::size_t member = 1; member < members; ++member) {
    std::ranges::transform(end.losses, losses[member], end.losses.begin(), std::plus<>());
  }
  return end;
}

inline bool same_arrays(const trial::TrainingState& left, const trial::TrainingState& right) {
  return std::ranges::equal(left.arrays, right.arrays,
                            [](const auto& a, const auto& b) { return a.values == b.values; });
}

}  // namespace skyline::train::test

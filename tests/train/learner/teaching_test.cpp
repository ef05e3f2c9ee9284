// Trials that learn from a teacher as well: in parts, groups and recordings, and after a stop.
#include "support/scratch_folder.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/learner_fixtures.hpp"
#include "train/fixtures/step_fixtures.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using skyline::testing::ScratchFolder;
using test::make_trial;
using test::Trained;

constexpr double kRounding = 2e-5;

/// A file with random outputs for the learners' images.
class Teaching : public ::testing::Test {
 protected:
  Teaching() {
    const store::Dataset& data = *test::learner_images();
    const std::size_t outputs = data.class_names().size();
    RandomStream random(7);
    for (std::size_t i = 0; i < data.train().count * outputs; ++i) {
      said.push_back(static_cast<float>(8 * random.uniform() - 4));
    }
    store::write_teacher(folder / "teacher.h5",
                         {data.content_hash(), "random numbers", data.train().count, outputs, said});
    options.batch = 64;
    options.optimizer = test::sgd(0.1, 0);
    options.teacher = TeacherOptions{.file = (folder / "teacher.h5").string()};
  }

  Trained steps(std::int64_t count, const std::shared_ptr<Accelerator>& accelerator = nullptr) const {
    return test::train_on_device(options, make_trial(test::every_layer(), 4, 5), count, {}, accelerator);
  }

  ScratchFolder folder;
  std::vector<float> said;
  TrainingOptions options;
};

TEST_F(Teaching, GivesEachSampleItsOwnTargetsWhateverItsPlaceAndChanges) {
  options.augment = {.crop = 2, .flip = true};
  const TrainingSetup setup = test::make_setup(options, nullptr);
  const BatchBuffers batch = BatchBuffers::make_for_training(16, setup);
  const std::vector<std::int64_t> order = epoch_order(setup.split.train, 3, 1);
  const at::Tensor seed = at::tensor(std::int64_t{11});
  gather_on_device(*setup.on_device, SampleSet::kTrain, at::tensor(order), at::tensor(std::int64_t{32}),
                   batch,
                   {.seed = seed,
                    .augment = augment_plan(options.augment, *setup.dataset),
                    .softening = kernels::Softening::kClasses,
                    .temperature = 2.5},
                   5);
  const at::Tensor rows = at::tensor(said).view({-1, 6});
  for (std::int64_t i = 0; i < 16; ++i) {
    const at::Tensor expected = at::softmax(rows[order[static_cast<std::size_t>(37 + i)]] / 2.5, 0);
    EXPECT_LT(batch.taught[i].sub(expected).abs().max().item<double>(), 1e-6);
  }
}

TEST_F(Teaching, MixesTheTargetsOfMixedImages) {
  options.augment.mixup = 1;
  const TrainingSetup setup = test::make_setup(options, nullptr);
  const BatchBuffers batch = BatchBuffers::make_for_training(200, setup);
  const std::vector<std::int64_t> order = epoch_order(setup.split.train, 3, 1);
  gather_on_device(*setup.on_device, SampleSet::kTrain, at::tensor(order), at::tensor(std::int64_t{0}), batch,
                   {.seed = at::tensor(std::int64_t{11}),
                    .mixup = at::tensor(mixup_table(1)),
                    .softening = kernels::Softening::kNone});
  const at::Tensor rows = at::tensor(said).view({-1, 6});
  const std::int64_t samples = std::ssize(order);
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto drawn = kernels::draw_mix({mixup_table(1).data(), nullptr, samples}, 8, 8,
                                         static_cast<std::uint64_t>(11 + i));
    const at::Tensor expected = drawn.share * rows[order[static_cast<std::size_t>(i)]] +
                                (1 - drawn.share) * rows[order[static_cast<std::size_t>(drawn.other)]];
    EXPECT_LT(batch.taught[i].sub(expected).abs().max().item<double>(), 1e-5);
  }
}

TEST_F(Teaching, ChangesNothingWithoutWeight) {
  options.teacher->weight = 0;
  const Trained weightless = steps(4);
  options.teacher.reset();
  EXPECT_EQ(steps(4).losses, weightless.losses);
  EXPECT_TRUE(test::same_values(steps(4).tensors, weightless.tensors));
}

TEST_F(Teaching, HasTheSameGradientsInPartsAndInGroups) {
  const space::Network network =
      test::NetworkBuilder({2, 8, 8}).conv2d(12, 3).relu().flatten().linear(6).build();
  const trial::Trial trial = make_trial(network, 3, 5);
  for (const auto& accelerator :
       {std::shared_ptr(make_host_accelerator(Kernels::kOwn)), std::shared_ptr(make_host_accelerator())}) {
    options.accumulate = 1;
    const std::vector<double> whole = test::train_on_device(options, trial, 4, {}, accelerator).losses;
    options.accumulate = 5;
    const std::vector<double> parts = test::train_on_device(options, trial, 4, {}, accelerator).losses;
    const test::GroupEnd group = test::train_group(
        options, 3, test::kSmallBuckets, {}, {.steps = 4, .accelerator = accelerator, .network = network});
    for (std::size_t step = 0; step < whole.size(); ++step) {
      EXPECT_NEAR(parts[step], whole[step], kRounding) << "step " << step;
      EXPECT_NEAR(group.losses[step], whole[step], kRounding) << "step " << step;
    }
  }
}

TEST_F(Teaching, HasTheBitsOfRecordedSteps) {
  const Trained plain = steps(12, make_host_accelerator());
  const Trained recorded =
      test::train_on_device(options, make_trial(test::every_layer(), 4, 5), 12, test::soon());
  EXPECT_EQ(recorded.losses, plain.losses);
  EXPECT_TRUE(test::same_values(recorded.tensors, plain.tensors));
}

TEST_F(Teaching, ResumesInTheSameBits) {
  const trial::Trial trial = make_trial(test::every_layer(), 4, 5);
  const TrainingSetup setup = test::make_setup(options, nullptr);
  const auto whole = test::make_learner(setup, trial);
  test::train(*whole, setup, trial, 0, 10);
  const auto begun = test::make_learner(setup, trial);
  test::train(*begun, setup, trial, 0, 6);
  trial::TrainingState state;
  begun->save_state(state);
  const auto resumed = test::make_learner(setup, trial);
  ASSERT_TRUE(resumed->load_state(state));
  test::train(*resumed, setup, trial, 6, 4);
  EXPECT_TRUE(test::same_values(resumed->export_tensors(), whole->export_tensors()));
}

}  // namespace
}  // namespace skyline::train

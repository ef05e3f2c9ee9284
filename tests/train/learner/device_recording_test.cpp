// Recorded steps of a device: the same bits as steps that are not, and going on where recording is refused.

#include "train/fixtures/learner_fixtures.hpp"
#include "train/fixtures/watched_accelerator.hpp"

#include <array>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam;
using test::every_layer;
using test::make_setup;
using test::make_trial;
using test::same_values;
using test::soon;
using test::train;
using test::train_on_device;
using test::Trained;
using test::WatchedAccelerator;

TEST(DeviceRecording, HasTheSameBitsWhetherStepsAreRecordedOrNot) {
  const trial::Trial trial = make_trial(every_layer(), 3, 5);
  TrainingOptions options = adam();
  options.augment = {.crop = 1, .flip = true, .cutout = 2};
  const Trained plain = train_on_device(options, trial, 30, {});
  EXPECT_EQ(plain.losses.size(), 30U);
  for (const std::int64_t burst : {1, 3, 4, 16}) {
    RecordingPolicy policy = soon();
    policy.burst = burst;
    const auto accelerator = std::make_shared<WatchedAccelerator>();
    const Trained recorded = train_on_device(options, trial, 30, policy, accelerator);
    EXPECT_EQ(recorded.losses, plain.losses) << burst;
    EXPECT_TRUE(same_values(recorded.tensors, plain.tensors)) << burst;
    EXPECT_EQ(accelerator->counts.gathers, 30);
    EXPECT_GT(accelerator->counts.replays, 0);
  }
}

TEST(DeviceRecording, ReplaysSeveralStepsAtOnce) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  train_on_device(adam(), make_trial(every_layer(), 1, 5), 12, soon(), accelerator);
  // The first four as they are (two) and recorded, one by one (two); then two bursts of four.
  EXPECT_EQ(accelerator->counts.captures, 2);
  EXPECT_EQ(accelerator->counts.replays, 4);
}

TEST(DeviceRecording, ReplaysTheSmallerLastBatchOfManyEpochs) {
  const trial::Trial trial = make_trial(every_layer(), 4, 5);
  const Trained plain = train_on_device(adam(), trial, 52, {});
  RecordingPolicy policy = soon();
  policy.runs_before = 1;
  policy.least_epochs = 4;
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const Trained recorded = train_on_device(adam(), trial, 52, policy, accelerator);
  EXPECT_EQ(accelerator->counts.captures, 3);  // a step, four of them, and a last one
  EXPECT_EQ(recorded.losses, plain.losses);
  EXPECT_TRUE(same_values(recorded.tensors, plain.tensors));
}

TEST(DeviceRecording, DoesNotRecordAShortTrial) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  train_on_device(adam(), make_trial(every_layer(), 3, 5), 39, {}, accelerator);
  EXPECT_EQ(accelerator->counts.captures, 0);
  EXPECT_EQ(accelerator->counts.gathers, 39);
}

TEST(DeviceRecording, GoesOnWhereTheDeviceDoesNotRecord) {
  const trial::Trial trial = make_trial(every_layer(), 3, 5);
  const auto accelerator = std::make_shared<WatchedAccelerator>(true);
  const Trained refused = train_on_device(adam(), trial, 30, soon(), accelerator);
  const Trained plain = train_on_device(adam(), trial, 30, {});
  EXPECT_EQ(accelerator->counts.captures, 1);
  EXPECT_EQ(refused.losses, plain.losses);
  EXPECT_TRUE(same_values(refused.tensors, plain.tensors));
}

/// Trials in turn on one device. @return  the parameters of the last one
std::vector<trial::NamedTensor> train_in_turn(std::shared_ptr<Accelerator> accelerator, int trials,
                                              const trial::Trial& trial) {
  const TrainingSetup setup = make_setup(adam(), std::move(accelerator));
  std::vector<trial::NamedTensor> tensors;
  for (int i = 0; i < trials; ++i) {
    const auto learner = test::make_learner(setup, trial, nullptr, soon());
    train(*learner, setup, trial, 0, 12);
    tensors = learner->export_tensors();
  }
  return tensors;
}

TEST(DeviceRecording, RecordsTheNextTrialAfterOneWasRefused) {
  const trial::Trial trial = make_trial(every_layer(), 1, 5);
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  accelerator->before_capture = [](int number) {
    if (number == 1) throw UserError("another thread waited for the device");
  };
  const auto tensors = train_in_turn(accelerator, 1, trial);
  EXPECT_EQ(accelerator->counts.captures, 1);
  EXPECT_EQ(accelerator->counts.replays, 0);
  accelerator->counts.captures = 0;
  EXPECT_TRUE(same_values(train_in_turn(accelerator, 2, trial), tensors));
  EXPECT_EQ(accelerator->counts.captures, 1 + 2);
  EXPECT_EQ(accelerator->counts.replays, 4);
}

TEST(DeviceRecording, GoesOnWhereARecordingHasNoMemory) {
  const trial::Trial trial = make_trial(every_layer(), 1, 5);
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  accelerator->before_capture = [](int number) {
    TORCH_CHECK_WITH(OutOfMemoryError, number > 4, "no memory for a recording");
  };
  const auto tensors = train_in_turn(accelerator, 4, trial);
  EXPECT_EQ(accelerator->counts.captures, 4);
  EXPECT_EQ(accelerator->counts.replays, 0);
  EXPECT_TRUE(same_values(train_in_turn(accelerator, 1, trial), tensors));
  EXPECT_EQ(accelerator->counts.replays, 4);
}

TEST(DeviceRecording, ReplaysSingleStepsWhereSeveralAreNotRecorded) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  accelerator->before_capture = [](int number) {
    TORCH_CHECK_WITH(OutOfMemoryError, number == 1, "no memory for four steps");
  };
  train_in_turn(accelerator, 1, make_trial(every_layer(), 1, 5));
  EXPECT_EQ(accelerator->counts.captures, 2);
  EXPECT_EQ(accelerator->counts.replays, 2 + 4);
}

/// The devices and results of both members.
struct GroupRecording {
  std::array<std::shared_ptr<WatchedAccelerator>, 2> devices;
  std::array<Trained, 2> trained;
};

/// @param refuse  called before each capture of member 1
GroupRecording train_in_a_group(const std::function<void(int)>& refuse, const RecordingPolicy& policy) {
  GroupRecording result;
  trial::Trial trial = make_trial(every_layer(), 3, 5);
  trial.members = 2;
  for (std::size_t member = 0; member < 2; ++member) {
    result.devices[member] = std::make_shared<WatchedAccelerator>();
  }
  result.devices[1]->before_capture = refuse;
  test::run_members(2, [&](std::size_t member, trial::TrialGroup& group) {
    const TrainingSetup setup = make_setup(adam(), result.devices[member]);
    const auto learner = test::make_learner(setup, trial, &group, policy);
    result.trained[member].losses = train(*learner, setup, trial, 0, 30);
    result.trained[member].tensors = learner->export_tensors();
  });
  return result;
}

TEST(DeviceRecording, OfAGroupReplaysOnAllMembersOrOnNone) {
  const auto never = train_in_a_group({}, {});
  const auto all = train_in_a_group({}, soon());
  const auto none = train_in_a_group([](int) { throw UserError("not today"); }, soon());
  const auto single = train_in_a_group(
      [](int number) { TORCH_CHECK_WITH(OutOfMemoryError, number == 1, "no memory for four steps"); },
      soon());
  for (std::size_t member = 0; member < 2; ++member) {
    EXPECT_GT(all.devices[member]->counts.replays, 0);
    EXPECT_EQ(none.devices[member]->counts.captures, 1);
    EXPECT_EQ(none.devices[member]->counts.replays, 0);
    EXPECT_EQ(single.devices[member]->counts.captures, 2);
    EXPECT_EQ(single.devices[member]->counts.replays, single.devices[0]->counts.replays);
    EXPECT_GT(single.devices[member]->counts.replays, 0);
    for (const auto* run : {&all, &none, &single}) {
      EXPECT_EQ(run->trained[member].losses, never.trained[member].losses);
      EXPECT_TRUE(same_values(run->trained[member].tensors, never.trained[0].tensors));
    }
  }
}

TEST(DeviceRecording, OfAGroupTriesToRecordWhateverItsProcessHasSeen) {
  const auto accelerator = std::make_shared<WatchedAccelerator>(true);
  const TrainingSetup setup = make_setup(adam(), accelerator);
  trial::Trial trial = make_trial(every_layer(), 1, 5);
  for (int i = 0; i < 3; ++i) train(*test::make_learner(setup, trial, nullptr, soon()), setup, trial, 0, 8);
  trial.members = 2;
  test::run_members(2, [&](std::size_t, trial::TrialGroup& group) {
    train(*test::make_learner(setup, trial, &group, soon()), setup, trial, 0, 8);
  });
  EXPECT_EQ(accelerator->counts.captures, 3 + 2);
}

}  // namespace
}  // namespace skyline::train

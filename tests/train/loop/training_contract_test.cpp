// What every way to train a trial promises, on the host, on a device and in groups; and that they agree.
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/trainings.hpp"

#include <ostream>

namespace skyline::train {
namespace {

using test::adam_options;
using test::every_layer;
using test::kEpochSteps;
using test::make_trial;
using test::sgd_options;
using test::Sharding;
using test::Statistics;
using test::Trainer;
using test::Training;
using test::TrialEnd;
using test::whole_recipe;
using test::with_group;
using trial::Phase;
using trial::TrainingState;
using trial::Trial;

Trainer of_host(std::size_t members = 1) {
  return {members};
}

Trainer of_device(std::size_t members = 1) {
  return {members, make_host_accelerator()};
}

TrainingOptions adamw_recipe(Precision precision = Precision::kFp32) {
  TrainingOptions options = whole_recipe(adam_options());
  options.optimizer.kind = OptimizerOptions::Kind::kAdamW;
  options.precision = precision;
  return options;
}

/// In batches of 8 and a last one of 2: parts of 2, 3 and 3 samples, and of 0, 1 and 1.
TrainingOptions in_parts(TrainingOptions options) {
  options.accumulate = 3;
  return options;
}

struct Way {
  const char* name;
  Trainer trainer;
  TrainingOptions options;
  Phase phase = Phase::kSearch;
  friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

std::vector<Way> ways() {
  return {{"HostAdam", of_host(), adam_options()},
          {"HostMomentum", of_host(), sgd_options()},
          {"HostNesterov", of_host(), sgd_options(0.9, true)},
          {"HostPlainSgd", of_host(), sgd_options(0)},
          {"HostRecipe", of_host(), adamw_recipe()},
          {"HostRecipeInFull", of_host(), adamw_recipe(), Phase::kFinal},
          {"HostRecipeInBfloat16", of_host(), adamw_recipe(Precision::kBf16)},
          {"DeviceSgd", of_device(), sgd_options()},
          {"DeviceRecipe", of_device(), adamw_recipe()},
          {"DeviceRecipeInBfloat16", of_device(), adamw_recipe(Precision::kBf16)},
          {"HostRecipeInParts", of_host(), in_parts(adamw_recipe()), Phase::kFinal},
          {"DeviceRecipeInParts", of_device(), in_parts(adamw_recipe())},
          {"Group", of_host(3), adam_options()},
          {"GroupInParts", of_host(3),
           with_group(in_parts(adam_options()), Statistics::kLocal, Sharding::kGradients)},
          {"GroupShardsOptimizer", of_host(3),
           with_group(adam_options(), Statistics::kLocal, Sharding::kOptimizer)},
          {"GroupShardsGradients", of_host(3),
           with_group(adam_options(), Statistics::kLocal, Sharding::kGradients)},
          {"GroupRecipe", of_host(3),
           with_group(adamw_recipe(), Statistics::kSynchronized, Sharding::kGradients)}};
}

class EachTraining : public ::testing::TestWithParam<Way> {
 protected:
  static constexpr int kTrialSteps = 39;  // 1.5 epochs

  const TrainingOptions& options() const { return GetParam().options; }
  Training training() const { return {GetParam().trainer, options()}; }
  bool judges_epochs() const { return GetParam().phase == Phase::kFinal && options().full.judges_epochs(); }

  Trial trial(int steps = kTrialSteps, Phase phase = GetParam().phase) const {
    return make_trial(options().precision == Precision::kBf16 ? test::wide_network() : every_layer(),
                      test::epochs_of(steps), 5, phase);
  }
  /// The first steps of the whole one, for trials that continue it.
  Trial part(int steps) const {
    Trial part = trial(steps, Phase::kSearch);
    part.proposal.horizon.epochs = test::epochs_of(kTrialSteps);
    return part;
  }
};

TEST_P(EachTraining, ResumesToTheSameBitsWhereverItWasStopped) {
  const Training training = this->training();
  const TrialEnd whole = training.run(trial());
  EXPECT_FALSE(whole.values.empty()) << whole.reason;
  EXPECT_EQ(whole.saves, 0);
  expect_same(training.run(trial()), whole);
  // After the first step, amid an epoch, at its end and around it, before and after the last step, and where
  // it is scored or recalibrated.
  std::vector<int> polls{1,
                         7,
                         kEpochSteps - 1,
                         kEpochSteps,
                         kEpochSteps + 1,
                         kTrialSteps - 1,
                         kTrialSteps,
                         kTrialSteps + 1,
                         kTrialSteps + 2};
  for (int poll = 3; judges_epochs() && poll < whole.polls; poll += 2) polls.push_back(poll);
  for (const int poll : polls) {
    // Members of a group leave their last agreement at different polls.
    if (poll >= whole.polls || (GetParam().trainer.members > 1 && poll > kTrialSteps)) continue;
    SCOPED_TRACE("stopped at poll " + std::to_string(poll));
    const auto member = static_cast<std::size_t>(poll) % GetParam().trainer.members;
    const TrainingState state = training.stop(trial(), poll, {.stopped_by = member});
    const TrialEnd resumed = training.resume(trial(), state);
    expect_same(resumed, whole);
    if (judges_epochs()) continue;
    EXPECT_EQ(state.step, std::min(poll, kTrialSteps));
    EXPECT_EQ(resumed.polls, whole.polls - state.step) << "only the steps that were missing are done";
  }
}

TEST_P(EachTraining, ResumesAfterManyStops) {
  const Training training = this->training();
  const TrialEnd whole = training.run(trial());
  std::optional<TrainingState> state;
  for (const int polls : {5, 8, 9, 11}) state = training.stop(trial(), polls, {.start = state});
  expect_same(training.resume(trial(), *state), whole);
}

TEST_P(EachTraining, IsNotDisturbedBySnapshots) {
  const Training training = this->training();
  const TrialEnd whole = training.run(trial());
  const TrialEnd saving = training.run(trial(), {.save_from_epoch = 1});
  expect_same(saving, whole);
  EXPECT_EQ(saving.saves, kTrialSteps - kEpochSteps + 1);
  EXPECT_EQ(saving.saved.step, kTrialSteps);
  expect_same(training.resume(trial(), saving.saved), whole);
}

TEST_P(EachTraining, ContinuesToTheBitsOfOneLongTraining) {
  const Training training = this->training();
  const TrialEnd whole = training.run(part(kTrialSteps));
  EXPECT_FALSE(whole.left) << "nobody may continue it";
  TrialEnd end;
  for (const int steps : {5, kEpochSteps, kEpochSteps + 1}) {
    end = training.run(part(steps), {.start = end.left});
    ASSERT_TRUE(end.left) << end.reason;
    EXPECT_EQ(end.left->step, steps);
  }
  expect_same(training.run(part(kTrialSteps), {.start = end.left}), whole);
  for (const int polls : {1, 11}) {
    const TrainingState state = training.stop(part(kTrialSteps), polls, {.start = end.left});
    EXPECT_EQ(state.step, kEpochSteps + 1 + polls);
    expect_same(training.resume(part(kTrialSteps), state), whole);
  }
}

TEST_P(EachTraining, StartsFromTheBeginningWhereTheStateDoesNotFit) {
  const Training training = this->training();
  constexpr int kFewSteps = 13;
  const TrialEnd whole = training.run(trial(kFewSteps));
  std::vector<TrainingState> bad(9, training.stop(trial(kFewSteps), 4));
  bad[0].step = kFewSteps + 1;
  bad[1].step = -1;
  bad[2].arrays[0].values.pop_back();
  bad[3].arrays[1].values.push_back(0);
  bad[4].arrays.pop_back();
  std::swap(bad[5].arrays[0], bad[5].arrays[1]);
  bad[6].numbers.clear();
  bad[7].arrays[1].name = "momentum";
  bad[8].numbers.pop_back();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE("state " + std::to_string(i));
    ::testing::internal::CaptureStderr();
    const TrialEnd end = training.resume(trial(kFewSteps), bad[i]);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("the saved state of trial 0 does not fit it: the trial starts from the "
                                     "beginning"));
    EXPECT_EQ(end.polls, whole.polls);
    expect_same(end, whole);
  }
}

/// On a device steps are queued ahead of the look at their losses; a checkpoint or a stop looks earlier.
TEST_P(EachTraining, DivergesAlikeWhereverItIsSavedStoppedAndResumed) {
  TrainingOptions options = this->options();
  options.optimizer.learning_rate = 1e30;
  const Training training(GetParam().trainer, options);
  const TrialEnd whole = training.run(trial());
  ASSERT_THAT(whole.reason, ::testing::StartsWith("loss became"));
  const int step = std::stoi(whole.reason.substr(whole.reason.rfind(' ')));
  const TrialEnd saving = training.run(trial(), {.save_from_epoch = 0});
  EXPECT_EQ(saving.reason, whole.reason);
  EXPECT_EQ(saving.saves, step - 1);
  for (int polls = 1; polls < step; ++polls) {
    expect_same(training.resume(trial(), training.stop(trial(), polls)), whole);
  }
  for (const int polls : {step, step + 5}) {
    const TrialEnd end = training.run(trial(), {.stop_after_polls = polls});
    EXPECT_EQ(end.reason, whole.reason);
    EXPECT_EQ(end.saves, 0);
  }
}

std::string name_of(const ::testing::TestParamInfo<Way>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Contract, EachTraining, ::testing::ValuesIn(ways()), name_of);

struct Agreement {
  const char* name;
  std::vector<Trainer> trainers;  // trainers that end where the first one ends
  TrainingOptions options;
  Trial trial;
  double tolerance;
  friend std::ostream& operator<<(std::ostream& out, const Agreement& one) { return out << one.name; }
};

std::vector<Agreement> agreements() {
  TrainingOptions augmented = with_group(adam_options(), Statistics::kSynchronized);
  augmented.augment = {.crop = 2, .flip = true, .cutout = 3};
  const TrainingOptions synchronized = with_group(sgd_options(), Statistics::kSynchronized);
  const Trial without_norm = make_trial(test::NetworkBuilder({2, 8, 8})
                                            .conv2d(8, 3)
                                            .relu()
                                            .max_pool(2)
                                            .dropout(0.3)
                                            .flatten()
                                            .linear(6)
                                            .build(),
                                        2, 5);
  const Trial trial = test::every_layer_trial(39);
  return {
      {"Synchronized", {of_host(), of_host(2), of_host(3), of_host(4)}, synchronized, trial, 1e-4},
      {"Augmented",
       {of_host(), of_host(2), of_host(3), of_host(4)},
       augmented,
       test::every_layer_trial(13),
       1e-3},
      // Adam scales rounding up.
      {"WholeRecipe",
       {of_host(), of_host(2), of_host(3)},
       whole_recipe(synchronized),
       test::every_layer_trial(13, Phase::kFinal),
       1e-4},
      {"WithoutNorm", {of_host(), of_host(3)}, sgd_options(), without_norm, 1e-4},
      {"Device", {of_host(), of_device()}, sgd_options(), test::every_layer_trial(39, Phase::kFinal), 1e-3},
      {"DevicesSynchronized",
       {of_host(), of_device(), of_device(2), of_device(3), of_device(4)},
       synchronized,
       trial,
       1e-3},
      {"TwoDevices", {of_host(2), of_device(2)}, sgd_options(), trial, 1e-3},
      {"ThreeDevices", {of_host(3), of_device(3)}, sgd_options(), trial, 1e-3},
      {"FourDevices", {of_host(4), of_device(4)}, sgd_options(), trial, 1e-3}};
}

class Trainers : public ::testing::TestWithParam<Agreement> {};

/// Trains the trial in each way, and compares with the first one.
void expect_equal_ends(const Agreement& one, const Trial& trial, test::Script script = {}) {
  script.save_from_epoch = 0;
  std::optional<TrialEnd> first;
  for (const Trainer& trainer : one.trainers) {
    SCOPED_TRACE(std::to_string(trainer.members) + (trainer.accelerator ? " on a device" : " on the host"));
    TrialEnd end = Training(trainer, one.options).run(trial, script);
    if (!first) first = end;
    // A group on devices saves where it looks at its losses: not after each step.
    if (trainer.accelerator && trainer.members > 1) end.loss_sums = first->loss_sums;
    expect_close(end, *first, one.tolerance);
  }
}

TEST_P(Trainers, EndWhereTheFirstOneEnds) {
  expect_equal_ends(GetParam(), GetParam().trial);
}

TEST_P(Trainers, InheritAlike) {
  const TrialEnd parent = Training(of_host(), sgd_options()).run(GetParam().trial);
  Trial child = GetParam().trial;
  child.seed = 6;
  child.proposal.budget = child.proposal.horizon = {0.1};
  child.proposal.start = trial::Inherit{0, child.proposal.architecture, 1.0};
  expect_equal_ends(GetParam(), child,
                    {.parents = std::make_shared<const std::vector<trial::NamedTensor>>(parent.weights)});
}

std::string name_of_agreement(const ::testing::TestParamInfo<Agreement>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Contract, Trainers, ::testing::ValuesIn(agreements()), name_of_agreement);

}  // namespace
}  // namespace skyline::train

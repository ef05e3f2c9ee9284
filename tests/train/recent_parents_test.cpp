// Children that start from what their parents left on the device, which is the CPU behind the seam of
// accelerators.
#include "train/inherit/recent_parents.hpp"

#include "skyline/space/search_space.hpp"

#include "support/yaml_config.hpp"
#include "train/device/device_context.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/group_fixtures.hpp"
#include "train/inherit/transplant.hpp"
#include "train/train_fixtures.hpp"
#include "train/watched_accelerator.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using space::Network;
using test::RecordingContext;
using test::WatchedAccelerator;
using trial::Failure;
using trial::Measurements;
using trial::NamedTensor;
using trial::Outcome;
using trial::Trial;
using trial::TrialNumber;

constexpr space::Shape kShape{2, 8, 8};

Network blocks(int depth, std::int64_t kernel, std::int64_t width) {
  return test::conv_network(kShape, depth, kernel, width, 6);
}

Trial numbered(const Network& network, TrialNumber number, double epochs = 1) {
  Trial trial = test::make_trial(network, epochs, 10 + number);
  trial.number = number;
  return trial;
}

trial::Inherit inherits_from(const Trial& parent) {
  return {parent.number, parent.proposal.architecture, 1};
}

// The cache.

RecentParents::Entry entry(const Trial& trial, std::size_t bytes) {
  return std::make_shared<const TrainedTensors>(
      TrainedTensors{trial.number, trial.proposal.architecture, {}, bytes});
}

TEST(RecentParents, LetGoOfTheLeastRecentlyUsedFirst) {
  RecentParents parents(100);
  std::vector<Trial> trials;
  for (TrialNumber i = 0; i < 4; ++i) trials.push_back(numbered(blocks(1, 3, 4), i));
  for (int i = 0; i < 3; ++i) parents.keep(entry(trials[static_cast<std::size_t>(i)], 30));
  EXPECT_NE(parents.find(inherits_from(trials[0])), nullptr);
  parents.keep(entry(trials[3], 30));
  EXPECT_EQ(parents.find(inherits_from(trials[1])), nullptr);
  for (const std::size_t i : {0U, 2U, 3U}) EXPECT_NE(parents.find(inherits_from(trials[i])), nullptr) << i;
  EXPECT_EQ(parents.bytes(), 90U);
}

TEST(RecentParents, KeepOneOfATrial) {
  RecentParents parents(100);
  const Trial trial = numbered(blocks(1, 3, 4), 1);
  parents.keep(entry(trial, 60));
  const RecentParents::Entry again = entry(trial, 60);
  parents.keep(again);
  EXPECT_EQ(parents.bytes(), 60U);
  EXPECT_EQ(parents.find(inherits_from(trial)), again);
}

TEST(RecentParents, LeaveOutWhatIsTooLarge) {
  RecentParents parents(100);
  const Trial small = numbered(blocks(1, 3, 4), 1);
  const Trial large = numbered(blocks(1, 3, 4), 2);
  parents.keep(entry(small, 100));
  parents.keep(entry(large, 101));
  EXPECT_EQ(parents.find(inherits_from(large)), nullptr);
  EXPECT_NE(parents.find(inherits_from(small)), nullptr);
}

TEST(RecentParents, DoNotGiveATrialOfTheSameNumberWithAnotherNetwork) {
  RecentParents parents(100);
  parents.keep(entry(numbered(blocks(1, 3, 4), 1), 10));
  EXPECT_EQ(parents.find(inherits_from(numbered(blocks(1, 3, 5), 1))), nullptr);
  EXPECT_NE(parents.find(inherits_from(numbered(blocks(1, 3, 4), 1))), nullptr);
}

TEST(RecentParents, LeaveWhatIsInUseToItsUsers) {
  RecentParents parents(100);
  const Trial trial = numbered(blocks(1, 3, 4), 1);
  parents.keep(entry(trial, 60));
  const RecentParents::Entry used = parents.find(inherits_from(trial));
  parents.clear();
  EXPECT_EQ(parents.bytes(), 0U);
  EXPECT_EQ(parents.find(inherits_from(trial)), nullptr);
  EXPECT_EQ(used.use_count(), 1);
}

// The values.

space::SearchSpace space_of(const std::string& name, const space::Shape& shape) {
  const std::string path = SKYLINE_SOURCE_DIR "/configs/" + name;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return space::SearchSpace::parse(testing::config_from_yaml(text.str(), path).at("space"), {shape, 10});
}

/// Trained values, or what looks like them.
std::vector<NamedTensor> unlike_fresh_ones(const ParameterStore& store, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<NamedTensor> tensors = store.export_tensors();
  for (NamedTensor& tensor : tensors) {
    for (float& value : tensor.values) value += static_cast<float>(random.uniform()) - 0.5F;
  }
  return tensors;
}

/// Whether a child's tensors on a device become those that the host computes.
bool is_the_same_on_a_device(const Network& parent, const Network& child, std::uint64_t seed) {
  ParameterStore old(parent, seed);
  const std::vector<NamedTensor> trained = unlike_fresh_ones(old, seed);
  old.import_tensors(trained);
  const ParameterStore young(child, seed + 1);
  const auto expected = inherit_weights(parent, trained, child, young.export_tensors());
  inherit_tensors(plan_inheritance(parent, child), old.copy_tensors(), young.tensors());
  const auto got = young.export_tensors();
  return std::ranges::equal(expected, got, [](const auto& a, const auto& b) { return a.values == b.values; });
}

void compare_random_pairs(const space::SearchSpace& space, int pairs) {
  RandomStream random(17);
  const auto large = [](const Network& network) { return network.cost.parameters > 1'000'000; };
  for (int done = 0; done < pairs;) {
    const space::Genotype genotype = space.sample(random);
    const auto mutant = space.mutate(genotype, 0.3, random);
    const Network parent = space.build(genotype).network;
    const Network child = space.build(done % 2 == 0 ? *mutant : space.sample(random)).network;
    if (large(parent) || large(child)) continue;
    EXPECT_TRUE(is_the_same_on_a_device(parent, child, static_cast<std::uint64_t>(done)))
        << parent.canonical_text() << "\nto\n"
        << child.canonical_text();
    ++done;
  }
}

TEST(InheritanceOnADevice, HasTheBitsOfTheHostsInTheDigitsSpace) {
  compare_random_pairs(space_of("digits.yaml", {1, 8, 8}), 60);
}

TEST(InheritanceOnADevice, HasTheBitsOfTheHostsInTheMnistSpace) {
  compare_random_pairs(space_of("mnist_cnn.yaml", {1, 28, 28}), 30);
}

TEST(InheritanceOnADevice, HasTheBitsOfTheHostsBehindFlattenAndWithoutBiases) {
  const auto network = [](std::int64_t width, std::int64_t hidden, bool bias) {
    return test::NetworkBuilder(kShape)
        .conv2d(width, 3, 1, bias)
        .batch_norm()
        .relu()
        .max_pool(2)
        .flatten()
        .linear(hidden)
        .batch_norm()
        .relu()
        .linear(6)
        .build();
  };
  EXPECT_TRUE(is_the_same_on_a_device(network(4, 12, false), network(6, 20, true), 1));
  EXPECT_TRUE(is_the_same_on_a_device(network(6, 20, true), network(4, 12, false), 2));
}

// Whole trials.

class ParentsOnADevice : public ::testing::Test {
 protected:
  static const std::shared_ptr<const store::Dataset>& bars() {
    static const std::shared_ptr<const store::Dataset> data =
        std::make_shared<test::BarImages>(kShape, 6, 300, 60);
    return data;
  }

  std::unique_ptr<trial::Evaluator> evaluator(bool inherit = true) const {
    TrainingOptions options;
    options.batch = 16;
    options.inherit = inherit;
    return make_training_evaluator(options, Normalization::kStandard, bars(), test::split_in_two(203, 90),
                                   false, {device_, 0});
  }

  /// The weights that it leaves.
  static std::vector<NamedTensor> train(trial::Evaluator& evaluator, const Trial& trial, bool wanted = true) {
    RecordingContext context;
    context.wants = wanted;
    values(evaluator.evaluate(trial, context));
    return context.kept;
  }

  static std::vector<double> values(const Outcome& outcome) {
    const auto* measured = std::get_if<Measurements>(&outcome);
    EXPECT_NE(measured, nullptr) << std::get<Failure>(outcome).reason;
    if (measured == nullptr) return {};
    return {measured->values[0], measured->values[1], measured->values[2]};  // the others are NaN
  }

  Trial heir(const Network& network, TrialNumber number) const {
    Trial trial = numbered(network, number, 0.5);
    trial.proposal.start = inherits_from(parent_);
    return trial;
  }

  /// Whether a child finds the parent on the device; its context has no weights of the host's.
  bool finds_parent(trial::Evaluator& evaluator) const {
    RecordingContext context;
    return std::holds_alternative<Measurements>(evaluator.evaluate(heir(blocks(2, 3, 12), 9), context));
  }

  /// Of a child that starts from the host's arrays.
  std::vector<double> expected(const Trial& child, const std::vector<NamedTensor>& weights) const {
    RecordingContext context;
    context.parents = std::make_shared<const std::vector<NamedTensor>>(weights);
    return values(evaluator()->evaluate(child, context));
  }

  std::shared_ptr<WatchedAccelerator> device_ = std::make_shared<WatchedAccelerator>();
  const Trial parent_ = numbered(blocks(2, 3, 8), 3, 2);
};

TEST_F(ParentsOnADevice, GiveChildrenTheStartThatTheHostsCopyGives) {
  const auto shared = evaluator();
  const std::vector<NamedTensor> weights = train(*shared, parent_);
  const std::vector<Trial> children{heir(blocks(3, 3, 12), 4), heir(blocks(1, 5, 8), 5),
                                    heir(blocks(2, 3, 8), 6)};
  for (const Trial& child : children) {
    RecordingContext without_weights;
    EXPECT_EQ(values(shared->evaluate(child, without_weights)), expected(child, weights));
  }
}

TEST_F(ParentsOnADevice, ServeManyChildrenAtOnceWhileOthersAreKept) {
  const auto shared = evaluator();
  const std::vector<NamedTensor> weights = train(*shared, parent_);
  constexpr std::size_t kChildren = 4;
  std::vector<Outcome> outcomes(kChildren);
  std::vector<std::thread> slots;
  const auto child = [this](std::size_t i) { return heir(blocks(2 + static_cast<int>(i), 3, 8), 4 + i); };
  for (std::size_t i = 0; i < kChildren; ++i) {
    slots.emplace_back([&, i] {
      RecordingContext context;
      context.wants = true;  // each is kept in its turn
      outcomes[i] = shared->evaluate(child(i), context);
    });
  }
  for (std::thread& slot : slots) slot.join();
  for (std::size_t i = 0; i < kChildren; ++i) {
    EXPECT_EQ(values(outcomes[i]), expected(child(i), weights)) << i;
  }
}

TEST_F(ParentsOnADevice, GiveAGroupItsStart) {
  const auto shared = evaluator();
  const std::vector<NamedTensor> weights = train(*shared, parent_);
  const Trial child = heir(blocks(3, 3, 12), 4);
  test::GroupRun from_device(2);
  from_device.evaluate(*shared, child);
  test::GroupRun from_host(2);
  from_host.leader().parents = std::make_shared<const std::vector<NamedTensor>>(weights);
  from_host.evaluate(*evaluator(), child);
  for (std::size_t member = 0; member < 2; ++member) {
    EXPECT_EQ(values(from_device.outcomes[member]), values(from_host.outcomes[member]));
  }
  EXPECT_TRUE(std::ranges::equal(from_device.leader().kept, from_host.leader().kept,
                                 [](const auto& a, const auto& b) { return a.values == b.values; }));
}

TEST_F(ParentsOnADevice, AreKeptOfSearchesThatInheritAlone) {
  const auto fresh_only = evaluator(false);
  train(*fresh_only, parent_);
  EXPECT_FALSE(finds_parent(*fresh_only));
  const auto inheriting = evaluator();
  train(*inheriting, parent_, false);
  EXPECT_FALSE(finds_parent(*inheriting));
  Trial last = parent_;
  last.proposal.trains = last.number;
  train(*inheriting, last);
  EXPECT_FALSE(finds_parent(*inheriting));
  train(*inheriting, parent_);
  EXPECT_TRUE(finds_parent(*inheriting));
}

TEST_F(ParentsOnADevice, AreThoseThatCameToTheirEnd) {
  const auto shared = evaluator();
  RecordingContext stopped;
  stopped.wants = true;
  stopped.stop_after_polls = 5;
  EXPECT_TRUE(std::holds_alternative<Failure>(shared->evaluate(parent_, stopped)));
  EXPECT_FALSE(finds_parent(*shared));
}

TEST_F(ParentsOnADevice, MakeRoomForATrialThatRanOutOfMemory) {
  const auto shared = evaluator();
  const std::vector<NamedTensor> weights = train(*shared, parent_);
  const Trial child = heir(blocks(3, 3, 12), 4);
  const std::vector<double> undisturbed = expected(child, weights);
  bool full = true;
  device_->before_gather = [&] {
    if (std::exchange(full, false)) TORCH_CHECK_WITH(OutOfMemoryError, false, "the device is full");
  };
  RecordingContext context;  // the second attempt finds the parent in the host's memory
  context.parents = std::make_shared<const std::vector<NamedTensor>>(weights);
  EXPECT_EQ(values(shared->evaluate(child, context)), undisturbed);
  EXPECT_FALSE(full);
  EXPECT_FALSE(finds_parent(*shared));
}

TEST_F(ParentsOnADevice, AreNotKeptWhereThereIsNoMemoryForThem) {
  const ValueScaling scaling(*bars(), Normalization::kStandard);
  DeviceContext context({device_, 0}, bars(), scaling);
  const ParameterStore parameters(parent_.architecture().network, 1);
  const Trial earlier = numbered(blocks(1, 3, 4), 1);
  context.keep_parent(earlier, ParameterStore(earlier.architecture().network, 1));
  EXPECT_NE(context.parents().find(inherits_from(earlier)), nullptr);
  device_->before_run = [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "the device is full"); };
  context.keep_parent(parent_, parameters);
  EXPECT_EQ(context.parents().bytes(), 0U);
  device_->before_run = {};
  context.keep_parent(parent_, parameters);
  EXPECT_EQ(context.parents().bytes(), parameters.block().nbytes());
}

TEST_F(ParentsOnADevice, AreCopiesThatTheTrialCannotChange) {
  const ValueScaling scaling(*bars(), Normalization::kStandard);
  DeviceContext context({device_, 0}, bars(), scaling);
  ParameterStore parameters(parent_.architecture().network, 1);
  context.keep_parent(parent_, parameters);
  const float first = parameters.memory().front();
  parameters.memory().front() = first + 1;
  const RecentParents::Entry kept = context.parents().find(inherits_from(parent_));
  EXPECT_EQ(*kept->tensors.front().const_data_ptr<float>(), first);
}

}  // namespace
}  // namespace skyline::train

// The exchange of a group's members on their devices in a step, on the CPU behind the seam of accelerators.
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/group_fixtures.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/group/gradient_exchange.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::NetworkBuilder;
using trial::TrialGroup;
using Sharding = GroupOptions::Sharding;
using Log = std::vector<std::string>;
using ::testing::ElementsAre;

/// A group that writes down what it is asked for.
class LoggedGroup final : public TrialGroup {
 public:
  LoggedGroup(TrialGroup& group, Log& log) : group_(group), log_(log) {}
  std::size_t members() const override { return group_.members(); }
  std::size_t member() const override { return group_.member(); }
  std::unique_ptr<Operation> all_reduce(std::span<float> values) override {
    log_.push_back("sum of " + std::to_string(values.size()));
    return group_.all_reduce(values);
  }
  std::unique_ptr<Operation> reduce_scatter(std::span<float> values) override {
    held.insert(values.data());
    log_.push_back("parts of the sum of " + std::to_string(values.size()));
    return group_.reduce_scatter(values);
  }
  std::unique_ptr<Operation> all_gather(std::span<float> values) override {
    log_.push_back("all of " + std::to_string(values.size()));
    return group_.all_gather(values);
  }
  void sum(std::span<double> values) override {
    log_.push_back("sum of " + std::to_string(values.size()));
    group_.sum(values);
  }
  void broadcast(std::span<std::byte> bytes) override { group_.broadcast(bytes); }
  void check() override { group_.check(); }
  void abort(const trial::Failure& failure, bool fault) noexcept override { group_.abort(failure, fault); }

  std::set<const float*> held;  // memory that sums were made in

 private:
  TrialGroup& group_;
  Log& log_;
};

/// Three layers with 176, 48 and 32 floats, each a bucket: of two equal parts, 192, 64 and 32.
space::Network three_layers() {
  return NetworkBuilder({1, 4, 4}).flatten().linear(10).linear(3).linear(3).build();
}

/// A member of a group in training on the host. The network outlives it.
struct Member {
  Member(const space::Network& network, TrialGroup& trial_group, Log& log, const GroupOptions& options,
         std::size_t bucket_bytes = 64)
      : group(trial_group, log),
        reducer(make_host_reducer(group)),
        membership{reducer.get(), group.members(), group.member(), options},
        place{.accelerator = accelerator.get(),
              .synchronized =
                  options.statistics == GroupOptions::Statistics::kSynchronized ? &membership : nullptr},
        parameters(network, 7),
        graph(network, parameters, place),
        buckets(gradient_buckets(parameters, {bucket_bytes, bucket_bytes})),
        optimizer({}, parameters, Kernels::kAten, owned_ranges(buckets, membership, parameters)),
        exchange(membership, buckets, parameters, optimizer) {}

  /// @param samples  of the batch's that the member has
  void step(std::int64_t samples, std::int64_t batch) {
    const WithoutAutograd no_autograd;
    place.batch = batch;
    const auto member = static_cast<double>(group.member());
    const at::Tensor images =
        at::linspace(-1 + member, 1, samples * device_input.elements(), at::kFloat)
            .view({samples, device_input.channels, device_input.height, device_input.width});
    const at::Tensor logits = graph.forward(images, {});
    exchange.begin_step(static_cast<std::size_t>(samples), static_cast<std::size_t>(batch));
    graph.backward(logits.mul(0.1), [this](std::size_t layer) {
      if (has_gradient) has_gradient(layer);
      exchange.layer_done(layer);
    });
    exchange.finish_step(at::full({}, 0.01, at::kFloat));
  }

  space::Shape device_input{1, 4, 4};
  std::unique_ptr<Accelerator> accelerator = make_host_accelerator();
  LoggedGroup group;
  std::unique_ptr<DeviceReducer> reducer;
  GroupMembership membership;
  DevicePlace place;
  ParameterStore parameters;
  LayerGraph graph;
  std::vector<GradientBucket> buckets;
  Optimizer optimizer;
  GradientExchange exchange;
  std::function<void(std::size_t layer)> has_gradient;  // called as soon as backward is done with a layer
};

TEST(DeviceExchange, TakesGradientsThatAMemberLacksAsZeros) {
  test::run_members(2, [](std::size_t member, TrialGroup& group) {
    ParameterStore parameters(NetworkBuilder({1, 2, 2}).flatten().linear(3).build(), 7);
    const at::Tensor before = parameters.block().clone();
    const auto reducer = make_host_reducer(group);
    const GroupMembership membership{reducer.get(), 2, member, {}};
    OptimizerOptions plain;
    plain.kind = OptimizerOptions::Kind::kSgd;
    plain.momentum = 0;
    const auto buckets = gradient_buckets(parameters, {1, 1});
    Optimizer optimizer(plain, parameters, Kernels::kAten, owned_ranges(buckets, membership, parameters));
    GradientExchange exchange(membership, buckets, parameters, optimizer);
    for (int step = 1; step <= 2; ++step) {  // the second one finds the first one's sums
      at::Tensor& gradient = parameters.layer(1).gradient("weight");
      if (member == 0) gradient = at::full({3, 4}, 5.0, at::kFloat);
      exchange.begin_step(1, 2);
      exchange.finish_step(at::full({}, 0.5, at::kFloat));
      EXPECT_FALSE(gradient.defined());
      const at::Tensor change = before.sub(parameters.block());
      EXPECT_TRUE(
          at::equal(change.narrow(0, 0, 12).sub(2.5 * step).abs().gt(1e-5), at::zeros({12}, at::kBool)));
      EXPECT_TRUE(at::equal(change.narrow(0, 12, 20), at::zeros({20}, at::kFloat)));
    }
  });
}

/// The actions of one of two members in a step, with the moments at which backward has a layer's gradient.
Log log_of_step(const GroupOptions& options, std::int64_t samples_of_the_other) {
  const space::Network network = three_layers();
  std::vector<Log> logs(2);
  test::run_members(2, [&](std::size_t member, TrialGroup& group) {
    Member trained(network, group, logs[member], options);
    if (member == 0) {
      trained.has_gradient = [&](std::size_t layer) {
        StoredLayer& tensors = trained.parameters.layer(layer);
        if (tensors.has("weight") && tensors.gradient("weight").defined()) {
          logs[0].push_back("gradient of layer " + std::to_string(layer));
        }
      };
    }
    trained.step(member == 0 ? 2 : samples_of_the_other, 2 + samples_of_the_other);
  });
  Log operations = logs[0];
  std::erase_if(operations, [](const std::string& entry) { return entry.starts_with("gradient"); });
  EXPECT_EQ(operations, logs[1]);
  return logs[0];
}

TEST(DeviceExchange, SumsABucketWhileBackwardGoesOn) {
  for (const std::int64_t samples_of_the_other : {2, 0}) {
    EXPECT_THAT(log_of_step({}, samples_of_the_other),
                ElementsAre("gradient of layer 3", "sum of 32", "gradient of layer 2", "sum of 64",
                            "gradient of layer 1", "sum of 192"));
  }
}

TEST(DeviceExchange, GivesEachMemberItsPartWhereTheOptimizerIsSharded) {
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    GroupOptions options;
    options.sharding = sharding;
    EXPECT_THAT(log_of_step(options, 1),
                ElementsAre("gradient of layer 3", "parts of the sum of 32", "gradient of layer 2",
                            "parts of the sum of 64", "gradient of layer 1", "parts of the sum of 192",
                            "all of 32", "all of 64", "all of 192"));
  }
}

std::size_t moments_of(const Member& member) {
  std::size_t count = 0;
  for (std::size_t range = 0; range < (member.membership.is_sharded() ? member.buckets.size() : 1); ++range) {
    count += static_cast<std::size_t>(member.optimizer.state().moments(0, range).numel());
  }
  return count;
}

TEST(DeviceExchange, HoldsLessTheMoreIsSharded) {
  const space::Network network =
      NetworkBuilder({1, 4, 4}).flatten().linear(64).linear(64).linear(64).linear(64).linear(64).build();
  std::size_t all = 0;
  std::vector<std::size_t> moments;
  std::vector<std::size_t> places;
  for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients}) {
    GroupOptions options;
    options.sharding = sharding;
    std::vector<Log> logs(4);
    test::run_members(4, [&](std::size_t index, TrialGroup& group) {
      Member member(network, group, logs[index], options, 4096);
      member.step(1, 4);
      if (index != 0) return;
      all = static_cast<std::size_t>(member.parameters.block().numel());
      moments.push_back(moments_of(member));
      places.push_back(member.group.held.size());
    });
  }
  EXPECT_EQ(moments[0], all);
  EXPECT_LE(moments[1], all / 4 + 5 * 16);
  EXPECT_EQ(moments[2], moments[1]);
  EXPECT_EQ(places[1], 5U);
  EXPECT_EQ(places[2], 2U);  // places for the gradients of five buckets
}

TEST(DeviceExchange, HasEveryFloatOwnedByOneMember) {
  ParameterStore parameters(three_layers(), 1);
  const std::vector<GradientBucket> buckets = gradient_buckets(parameters, {64, 64});
  GroupOptions options;
  options.sharding = Sharding::kOptimizer;
  for (const std::size_t members : {2U, 3U, 16U}) {
    std::vector<int> owners(static_cast<std::size_t>(parameters.block().numel()));
    for (std::size_t member = 0; member < members; ++member) {
      for (const MemoryRange& range :
           owned_ranges(buckets, {nullptr, members, member, options}, parameters)) {
        for (std::size_t i = range.begin; i < range.end; ++i) ++owners[i];
      }
    }
    EXPECT_EQ(std::ranges::count(owners, 1), static_cast<std::ptrdiff_t>(owners.size())) << members;
  }
}

TEST(DeviceExchange, MakesTheSameOperationsForAMemberWithoutSamplesInASynchronizedNetwork) {
  const space::Network network = NetworkBuilder({1, 4, 4})
                                     .conv2d(4, 3)
                                     .batch_norm()
                                     .relu()
                                     .conv2d(4, 3)
                                     .batch_norm()
                                     .flatten()
                                     .linear(3)
                                     .build();
  GroupOptions options;
  options.statistics = GroupOptions::Statistics::kSynchronized;
  std::vector<Log> logs(3);
  std::vector<at::Tensor> memories(3);
  test::run_members(3, [&](std::size_t member, TrialGroup& group) {
    Member trained(network, group, logs[member], options);
    for (int step = 0; step < 3; ++step) trained.step(member == 2 ? 0 : 2, 4);
    memories[member] = trained.parameters.block().clone();
  });
  EXPECT_EQ(logs[1], logs[0]);
  EXPECT_EQ(logs[2], logs[0]);
  EXPECT_EQ(std::ranges::count(logs[0], "sum of 8"), 3 * 2 * 2);  // two per channel, forward and backward
  EXPECT_TRUE(at::equal(memories[1], memories[0]));
  EXPECT_TRUE(at::equal(memories[2], memories[0]));
}

}  // namespace
}  // namespace skyline::train

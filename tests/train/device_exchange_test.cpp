// The exchange of a group's members on their devices in a step, on the CPU behind the seam of accelerators.
#include "train/group/device_exchange.hpp"

#include "train/device/accelerator.hpp"
#include "train/device/device_network.hpp"
#include "train/group_fixtures.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
    log_.push_back("parts of the sum of " + std::to_string(values.size()));
    return group_.reduce_scatter(values);
  }
  std::unique_ptr<Operation> all_gather(std::span<float> values) override {
    log_.push_back("all of " + std::to_string(values.size()));
    return group_.all_gather(values);
  }
  void sum(std::span<double> values) override { group_.sum(values); }
  void broadcast(std::span<std::byte> bytes) override { group_.broadcast(bytes); }
  void check() override { group_.check(); }
  void abort(const trial::Failure& failure, bool fault) noexcept override { group_.abort(failure, fault); }

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
        reducer(make_staged_reducer(group, true)),
        device(network, 7, *accelerator, c10::Device(c10::kCPU)),
        buckets(gradient_buckets(device.parameters(), bucket_bytes)),
        membership{reducer.get(), group.members(), group.member(), options},
        optimizer({}, device.parameters(), owned_ranges(buckets, membership, device.parameters())),
        exchange(membership, buckets, device.parameters(), optimizer) {
    for (const GradientBucket& bucket : buckets) {
      device.cut_backward(bucket.first_layer);
    }
    if (options.statistics == GroupOptions::Statistics::kSynchronized) {
      device.synchronize(membership);
    }
  }

  /// @param samples  of the batch's that the member has
  void step(std::int64_t samples, std::int64_t batch) {
    DeviceNetwork::Part part{{}, at::zeros({0}, at::kLong), 0, batch};
    if (samples > 0) {
      const space::Shape& shape = device_input;
      const auto member = static_cast<double>(group.member());
      part.images = at::linspace(-1 + member, 1, samples * shape.elements(), at::kFloat)
                        .view({samples, shape.channels, shape.height, shape.width});
    }
    const at::Tensor logits = device.train(part);
    const at::Tensor loss = logits.defined() ? logits.square().mean() : at::Tensor();
    exchange.begin_step(static_cast<double>(samples) / static_cast<double>(batch));
    device.backward(loss, [this](std::size_t layer) { exchange.layer_done(layer); });
    exchange.finish_step(at::full({}, 0.01, at::kFloat));
  }

  space::Shape device_input{1, 4, 4};
  std::unique_ptr<Accelerator> accelerator = make_host_accelerator();
  LoggedGroup group;
  std::unique_ptr<DeviceReducer> reducer;
  DeviceNetwork device;
  std::vector<GradientBucket> buckets;
  DeviceMembership membership;
  DeviceOptimizer optimizer;
  DeviceExchange exchange;
};

TEST(DeviceExchange, TakesGradientsThatAMemberLacksAsZeros) {
  test::run_members(2, [](std::size_t member, TrialGroup& group) {
    ParameterStore parameters(NetworkBuilder({1, 2, 2}).flatten().linear(3).build(), 7);
    const at::Tensor before = parameters.block().clone();
    const auto reducer = make_staged_reducer(group, true);
    const DeviceMembership membership{reducer.get(), 2, member, {}};
    OptimizerOptions plain;
    plain.kind = OptimizerOptions::Kind::kSgd;
    plain.momentum = 0;
    DeviceOptimizer optimizer(plain, parameters);
    const auto buckets = gradient_buckets(parameters, 1);
    DeviceExchange exchange(membership, buckets, parameters, optimizer);
    for (int step = 1; step <= 2; ++step) {  // the second one finds the first one's sums
      at::Tensor& weight = parameters.layer(1).value("weight");
      if (member == 0) weight.mutable_grad() = at::full({3, 4}, 5.0, at::kFloat);
      exchange.begin_step(0.5);
      exchange.finish_step(at::full({}, 0.5, at::kFloat));
      EXPECT_FALSE(weight.grad().defined());
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
      for (std::size_t layer = 1; layer < 4; ++layer) {
        const at::Tensor& weight = trained.device.parameters().layer(layer).value("weight");
        weight.register_hook([&logs, layer](const at::Tensor&) {
          logs[0].push_back("gradient of layer " + std::to_string(layer));
        });
      }
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
    count += static_cast<std::size_t>(member.optimizer.moments(0, range).numel());
  }
  return count;
}

TEST(DeviceExchange, HoldsLessTheMoreIsSharded) {
  const space::Network network =
      NetworkBuilder({1, 4, 4}).flatten().linear(64).linear(64).linear(64).linear(64).linear(64).build();
  const auto groups = skyline::testing::make_local_groups(4);
  Log log;
  std::size_t all = 0;
  std::vector<std::size_t> moments;
  std::vector<std::size_t> sums;
  for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients}) {
    GroupOptions options;
    options.sharding = sharding;
    Member member(network, *groups[0], log, options, 4096);
    all = static_cast<std::size_t>(member.device.parameters().block().numel());
    moments.push_back(moments_of(member));
    sums.push_back(member.exchange.held_values());
  }
  EXPECT_EQ(moments[0], all);
  EXPECT_LE(moments[1], all / 4 + 5 * 16);
  EXPECT_EQ(moments[2], moments[1]);
  EXPECT_LE(sums[2], all / 4 + 2 * (64 * 65 + 64) + 5 * 16);  // a quarter, and two buckets of five
  EXPECT_LT(sums[2], 3 * all / 4);
}

TEST(DeviceExchange, HasEveryFloatOwnedByOneMember) {
  ParameterStore parameters(three_layers(), 1);
  const std::vector<GradientBucket> buckets = gradient_buckets(parameters, 64);
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
    for (int step = 0; step < 3; ++step) {
      trained.step(member == 2 ? 0 : 2, 4);
    }
    memories[member] = trained.device.parameters().block().clone();
  });
  EXPECT_EQ(logs[1], logs[0]);
  EXPECT_EQ(logs[2], logs[0]);
  EXPECT_EQ(std::ranges::count(logs[0], "all of 48"), 3 * 2);  // moments of three members, two layers
  EXPECT_EQ(std::ranges::count(logs[0], "sum of 8"), 3 * 2);
  EXPECT_TRUE(at::equal(memories[1], memories[0]));
  EXPECT_TRUE(at::equal(memories[2], memories[0]));
}

/// Gradients of all parameters after one pass over three images.
std::vector<at::Tensor> gradients_of(const space::Network& network, bool in_pieces) {
  const auto accelerator = make_host_accelerator();
  DeviceNetwork device(network, 3, *accelerator, c10::Device(c10::kCPU));
  for (std::size_t layer = 0; in_pieces && layer <= network.layers.size(); ++layer) {
    device.cut_backward(layer);
  }
  const at::Tensor images = at::linspace(-1, 1, 3 * network.input.elements(), at::kFloat)
                                .view({3, network.input.channels, network.input.height, network.input.width})
                                .contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor logits = device.train({images, at::full({2}, 9, at::kLong), 0, 3});
  device.backward(logits.square().mean(), {});
  std::vector<at::Tensor> gradients;
  for (StoredLayer& layer : device.parameters().layers()) {
    for (const StoredTensor& tensor : layer.tensors()) {
      if (tensor.value.grad().defined()) gradients.push_back(tensor.value.grad());
    }
  }
  return gradients;
}

TEST(DeviceNetwork, HasTheSameGradientsWhetherBackwardStopsOrNot) {
  const auto whole = gradients_of(test::every_layer(), false);
  const auto pieces = gradients_of(test::every_layer(), true);
  EXPECT_EQ(whole.size(), 12U - 1);  // a bias in front of a batch norm is left alone
  ASSERT_EQ(pieces.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(pieces[i].allclose(whole[i], 1e-4, 1e-6))
        << pieces[i].sub(whole[i]).abs().max().item<float>();
  }
}

/// The first layer's output is read twice: by the second one, and by the sum at the end.
space::Network with_a_shortcut() {
  space::Network network =
      NetworkBuilder({1, 4, 4}).conv2d(1, 3).relu().plain("sum").flatten().linear(3).build();
  network.layers[2].inputs.push_back(0);
  return network;
}

class SumOp final : public FusedOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return inputs[0].add(inputs[1]);
  }
  at::Tensor forward(const Activations& inputs) override { return reference(inputs, true); }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    return {gradient, gradient.clone()};
  }
  at::Tensor infer(const Activations& inputs) override { return reference(inputs, false); }
};

TEST(DeviceNetwork, AddsUpTheGradientsOfAnOutputThatSeveralPiecesRead) {
  register_layer_op("sum", [](const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
    return std::unique_ptr<LayerOp>(std::make_unique<SumOp>());
  });
  const auto whole = gradients_of(with_a_shortcut(), false);
  const auto pieces = gradients_of(with_a_shortcut(), true);
  ASSERT_EQ(whole.size(), 4U);
  ASSERT_EQ(pieces.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(pieces[i].allclose(whole[i], 1e-6, 1e-8));
    EXPECT_GT(whole[i].abs().max().item<float>(), 0);
  }
}

}  // namespace
}  // namespace skyline::train

// Streams and graphs on a GPU.
#include "skyline/core/error.hpp"

#include "cuda/gpu_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <thread>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

namespace skyline::train {
namespace {

using test::OnTheGpu;
using ::testing::HasSubstr;

using GpuDevice = OnTheGpu;
using GpuStream = OnTheGpu;
using GpuGraph = OnTheGpu;
using GpuMemory = OnTheGpu;

TEST_F(GpuDevice, IsDescribed) {
  const AcceleratorDevice& device = accelerator().devices().front();
  EXPECT_THAT(device.name, HasSubstr("NVIDIA"));
  EXPECT_EQ(device.target, "cuda:0");
  EXPECT_EQ(device.bus_id.size(), 12U) << device.bus_id;
  const AcceleratorMemory memory = accelerator().memory(0);
  EXPECT_GE(device.memory_bytes, memory.total_bytes / 2);
  EXPECT_GT(memory.free_bytes, 0U);
  EXPECT_GE(memory.reserved_bytes, memory.allocated_bytes);
}

TEST_F(GpuStream, DoesItsWorkInOrder) {
  at::Tensor value = made([&] { return at::zeros({1 << 20}, floats()); });
  for (int i = 0; i < 100; ++i) stream().run([&] { value.mul_(0.5).add_(1.0); });
  EXPECT_TRUE(at::equal(on_host(value), at::full({1 << 20}, 2.0, at::kFloat)));
}

/// A small network with all that a training step has, in tensors of its own.
class Step {
 public:
  explicit Step(c10::Device device) {
    at::manual_seed(3);
    images_ = at::randn({16, 3, 8, 8}).to(device, at::kFloat, false, false, at::MemoryFormat::ChannelsLast);
    targets_ = at::arange(16, at::kLong).remainder(5).to(device);
    filters_ = at::randn({8, 3, 3, 3}).mul_(0.2).to(device).requires_grad_();
    weights_ = at::randn({5, 8}).mul_(0.2).to(device).requires_grad_();
    loss_ = at::zeros({}, at::TensorOptions(at::kFloat).device(device));
  }

  void run() {
    filters_.mutable_grad() = at::Tensor();
    weights_.mutable_grad() = at::Tensor();
    const at::Tensor features = at::conv2d(images_, filters_, {}, 1, 1).relu().mean({2, 3});
    const at::Tensor loss = at::cross_entropy_loss(at::linear(features, weights_), targets_);
    loss.backward();
    const at::NoGradGuard no_gradients;
    filters_.add_(filters_.grad(), -0.5);
    weights_.add_(weights_.grad(), -0.5);
    loss_.copy_(loss);
  }

  const at::Tensor& filters() const { return filters_; }
  const at::Tensor& loss() const { return loss_; }

 private:
  at::Tensor images_;
  at::Tensor targets_;
  at::Tensor filters_;
  at::Tensor weights_;
  at::Tensor loss_;
};

TEST_F(GpuGraph, GivesWhatTheSameStepsGiveWithoutIt) {
  std::optional<Step> eager;
  std::optional<Step> recorded;
  stream().run([&] {
    eager.emplace(device());
    recorded.emplace(device());
    for (int i = 0; i < 30; ++i) eager->run();
    for (int i = 0; i < 10; ++i) recorded->run();
  });
  const double first_loss = on_host(recorded->loss()).item<double>();
  const auto graph = stream().capture([&] { recorded->run(); });
  EXPECT_EQ(on_host(recorded->loss()).item<double>(), first_loss) << "recording is not running";
  for (int i = 0; i < 20; ++i) graph->replay();
  const at::Tensor expected = on_host(eager->filters().detach());
  EXPECT_LT(on_host(recorded->filters().detach()).sub(expected).abs().max().item<double>(), 1e-4);
  EXPECT_LT(on_host(recorded->loss()).item<double>(), first_loss);
}

TEST_F(GpuGraph, RefusesWorkThatWaitsForTheDeviceAndGoesOnWithout) {
  at::Tensor value = made([&] { return at::ones({4}, floats()); });
  EXPECT_THROW(stream().capture([&] { value.mul_(value.sum().item<float>()); }), UserError);
  stream().run([&] { value.add_(1.0); });
  EXPECT_EQ(on_host(value).sum().item<float>(), 8.0F);
  const auto graph = stream().capture([&] { value.add_(1.0); });
  graph->replay();
  EXPECT_EQ(on_host(value).sum().item<float>(), 12.0F);
}

TEST_F(GpuGraph, LeavesNoMemoryBehindCandidateAfterCandidate) {
  at::Tensor result = made([&] { return at::zeros({1}, floats()); });
  std::size_t most_after_first_round = 0;
  for (int candidate = 0; candidate < 200; ++candidate) {
    const std::int64_t size = (std::int64_t{1} << 20) * (1 + candidate % 10);
    const auto work = [&] { result.copy_(at::ones({size}, floats()).mul(2.0).sum().reshape({1})); };
    stream().run(work);
    const auto first = stream().capture(work);
    const auto second = stream().capture(work);
    first->replay();
    second->replay();
    EXPECT_EQ(on_host(result).item<float>(), 2.0F * static_cast<float>(size));
    if (candidate < 10) most_after_first_round = std::max(most_after_first_round, reserved_bytes());
    EXPECT_LE(reserved_bytes(), most_after_first_round) << "candidate " << candidate;
  }
}

TEST_F(GpuGraph, LeavesNothingThatCannotBeGivenBack) {
  at::Tensor result = made([&] { return at::zeros({1}, floats()); });
  const auto work = [&] {
    result.copy_(at::ones({std::int64_t{64} << 20}, floats()).mul(2.0).sum().reshape({1}));
  };
  stream().run(work);
  stream().wait();
  accelerator().release_cached_memory(0);
  const std::size_t before = reserved_bytes();
  auto graph = stream().capture(work);
  EXPECT_GE(reserved_bytes(), before + (std::size_t{256} << 20));
  graph.reset();
  accelerator().release_cached_memory(0);
  EXPECT_LE(reserved_bytes(), before);
  stream().capture(work)->replay();  // a graph that does not use the memory given back
  stream().wait();
}

TEST_F(GpuGraph, IsRecordedAndReplayedByTwoThreadsAtOnce) {
  std::atomic<int> failures = 0;
  const auto train = [&](double factor) {
    const auto own = accelerator().make_stream(0);
    at::Tensor value;
    own->run([&] { value = at::zeros({1 << 16}, floats()); });
    for (int round = 0; round < 50; ++round) {
      const auto work = [&] {
        value.copy_(at::full({1 << 16}, factor, floats()).mul(value.add(1.0)).remainder(97));
      };
      own->run([&] { value.zero_(); });
      own->run(work);
      const auto graph = own->capture(work);
      for (int i = 0; i < 20; ++i) graph->replay();
      own->wait();
      double expected = 0;
      for (int i = 0; i < 21; ++i) expected = std::fmod(factor * (expected + 1), 97);
      own->run([&] {
        if (value.sub(expected).abs().max().item<double>() > 0) ++failures;
      });
    }
  };
  std::thread other(train, 3.0);
  train(5.0);
  other.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(GpuMemory, ThatIsOutIsLibTorchsErrorAndTheNextAllocationWorks) {
  const auto too_many =
      static_cast<std::int64_t>(accelerator().memory(0).total_bytes);  // floats: 4 times all
  EXPECT_THROW(stream().run([&] { at::empty({too_many}, floats()); }), c10::OutOfMemoryError);
  const at::Tensor value = made([&] { return at::ones({1000}, floats()); });
  EXPECT_EQ(on_host(value).sum().item<float>(), 1000.0F);
}

TEST_F(GpuMemory, ThatIsOutInARecordingIsNoRefusal) {
  const auto too_many = static_cast<std::int64_t>(accelerator().memory(0).total_bytes);
  at::Tensor value = made([&] { return at::ones({10}, floats()); });
  stream().run([&] { value.add_(1.0); });
  EXPECT_THROW(stream().capture([&] { value.add_(at::empty({too_many}, floats()).sum()); }),
               c10::OutOfMemoryError);
  const auto graph = stream().capture([&] { value.add_(1.0); });
  graph->replay();
  EXPECT_EQ(on_host(value).sum().item<float>(), 30.0F);
}

}  // namespace
}  // namespace skyline::train

// Groups on a GPU. NCCL allows one member a device, so the group has one here.
#include "skyline/core/error.hpp"

#include "cuda/gpu_fixture.hpp"
#include "support/local_groups.hpp"

#include <cstdint>
#include <optional>
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kLarge = std::int64_t{16} << 20;  // floats, 64 MiB: a copy takes a while
constexpr std::int64_t kStride = 4096;                   // distance between the values of a quick look
constexpr int kPasses = 8;                               // over a source: it is slower to write than to copy

/// Operations of a group of one: copies, as their targets are not their sources (else NCCL does nothing).
/// Each would be too early or too late if the stream and the branch did not wait for each other: a source is
/// still being written when its operation is queued, and a target is read or overwritten as soon as it is
/// joined.
struct LongStep {
  explicit LongStep(const at::TensorOptions& options)
      : number(at::zeros({1}, options)), seen(at::zeros({kLarge / kStride}, options)) {
    for (at::Tensor* values : {&first, &sum, &second, &gathered, &overwritten}) {
      *values = at::zeros({kLarge}, options);
    }
  }

  void run(DeviceReducer& reducer) {
    number.add_(1.0);
    write(first);
    reducer.reduce_scatter(first, sum);
    write(second);
    reducer.all_gather(second, gathered);
    reducer.all_gather(second, overwritten);
    reducer.join(1);
    seen.copy_(gathered.slice(0, 0, kLarge, kStride));
    reducer.join();
    overwritten.zero_();
  }

  void write(at::Tensor& source) const {
    source.zero_();
    for (int pass = 0; pass < kPasses; ++pass) source.add_(number);
  }

  at::Tensor number;  // [1], of the step
  at::Tensor seen;
  at::Tensor first;
  at::Tensor sum;
  at::Tensor second;
  at::Tensor gathered;
  at::Tensor overwritten;
};

class GpuReducer : public test::OnTheGpu {
 protected:
  LongStep make_long_step() const {
    std::optional<LongStep> step;
    stream().run([&] { step.emplace(floats()); });
    stream().wait();
    return *step;
  }

  /// All steps up to this one, and nothing twice.
  void expect_done(const LongStep& step, int number) const {
    const double written = kPasses * number;
    expect_all(step.sum, written);
    expect_all(step.seen, written);
    expect_all(step.gathered, written);
    expect_all(step.overwritten, 0);
  }

 private:
  void expect_all(const at::Tensor& values, double expected) const {
    const at::Tensor host = on_host(values);
    EXPECT_EQ(host.min().item<float>(), static_cast<float>(expected));
    EXPECT_EQ(host.max().item<float>(), static_cast<float>(expected));
  }
};

TEST_F(GpuReducer, DoesAllOperationsInAGroupOfOne) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  const at::Tensor expected = at::arange(1000, at::kFloat);
  at::Tensor values = on_device(expected);
  at::Tensor part = made([&] { return at::empty({1000}, floats()); });
  at::Tensor gathered = made([&] { return at::empty({1000}, floats()); });
  stream().run([&] {
    reducer->all_reduce(values);
    reducer->join();
    reducer->reduce_scatter(values, part);
    reducer->join();
    reducer->all_gather(part, gathered);
    reducer->join();
  });
  stream().wait();
  EXPECT_TRUE(at::equal(on_host(gathered), expected));
}

TEST_F(GpuReducer, GoesOnBesideTheStreamUntilItIsJoined) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  LongStep step = make_long_step();
  for (int number = 1; number <= 5; ++number) {
    stream().run([&] { step.run(*reducer); });
    expect_done(step, number);
  }
}

TEST_F(GpuReducer, GoesOnBesideTheStreamInAGraphToo) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  LongStep step = make_long_step();
  const auto work = [&] { step.run(*reducer); };
  stream().run(work);
  stream().wait();
  {
    const auto graph = stream().capture(work);
    for (int i = 0; i < 10; ++i) graph->replay();
    expect_done(step, 1 + 10);
  }
  stream().run(work);  // the first way again, without a wait for the recording
  expect_done(step, 1 + 10 + 1);
}

TEST_F(GpuReducer, TakesUpAnotherStepAfterARecordingThatWasGivenUp) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  LongStep step = make_long_step();
  const auto work = [&] { step.run(*reducer); };
  stream().run(work);
  stream().wait();
  EXPECT_ANY_THROW(stream().capture([&] {
    reducer->reduce_scatter(step.first, step.sum);
    reducer->all_gather(step.second, step.gathered);
    throw InternalError("given up with two operations that are not joined");
  }));
  stream().run([&] {
    reducer->join(1);
    work();
  });
  expect_done(step, 2);
  {
    const auto graph = stream().capture(work);
    graph->replay();
    expect_done(step, 3);
  }
}

TEST_F(GpuReducer, LeavesAGroupWhoseOperationsAreInAGraph) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  LongStep step = make_long_step();
  const auto work = [&] { step.run(*reducer); };
  stream().run(work);
  stream().wait();
  const auto graph = stream().capture(work);
  graph->replay();
  expect_done(step, 2);
  groups[0]->abort({trial::FailureKind::kOutOfMemory, "not enough memory"});
  graph->replay();
  EXPECT_THROW(stream().wait(), trial::GroupAborted);
  EXPECT_THROW(stream().run(work), InternalError);
}

TEST_F(GpuReducer, IsNotMadeForTwoMembersOfADevice) {
  const auto groups = testing::make_local_groups(2);
  const auto refuse = [&](trial::TrialGroup& group) {
    EXPECT_EQ(accelerator().make_reducer(group, 0), nullptr);
  };
  std::thread other([&] { refuse(*groups[1]); });
  refuse(*groups[0]);
  other.join();
}

}  // namespace
}  // namespace skyline::train

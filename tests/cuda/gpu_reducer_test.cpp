// Groups on a GPU. NCCL allows one member a device, so the group has one here; others are staged.
#include "skyline/core/error.hpp"

#include "cuda/gpu_fixture.hpp"
#include "support/local_groups.hpp"

#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

namespace skyline::train {
namespace {

using GpuReducer = test::OnTheGpu;

TEST_F(GpuReducer, DoesAllOperationsInAGroupOfOne) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  ASSERT_TRUE(reducer->may_be_recorded());
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
  reducer->check();
  EXPECT_TRUE(at::equal(on_host(gathered), expected));
}

TEST_F(GpuReducer, SumsInAGraph) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  at::Tensor values = made([&] { return at::ones({1000}, floats()); });
  const auto work = [&] {
    values.add_(1.0);
    reducer->all_reduce(values);
    reducer->join();
  };
  stream().run(work);
  stream().wait();
  {
    const auto graph = stream().capture(work);
    for (int i = 0; i < 10; ++i) graph->replay();
    stream().wait();
  }
  reducer->check();
  EXPECT_EQ(on_host(values).sum().item<float>(), 12'000.0F);
}

TEST_F(GpuReducer, GoesOnBesideTheStreamUntilItIsJoined) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  at::Tensor first = made([&] { return at::ones({1000}, floats()); });
  at::Tensor second = made([&] { return at::ones({1000}, floats()); });
  at::Tensor other = made([&] { return at::ones({1000}, floats()); });
  const auto work = [&] {
    first.add_(1.0);
    reducer->all_reduce(first);
    second.add_(1.0);
    reducer->all_reduce(second);
    other.add_(1.0);
    reducer->join(1);
    first.add_(1.0);
    reducer->join();
    second.add_(second);
  };
  stream().run(work);
  stream().wait();
  {
    const auto graph = stream().capture(work);
    graph->replay();
    stream().wait();
  }
  stream().run(work);  // as it is again: what was recorded is not waited for
  stream().wait();
  reducer->check();
  EXPECT_TRUE(at::equal(on_host(first), at::full({1000}, 7.0, at::kFloat)));
  EXPECT_TRUE(at::equal(on_host(second), at::full({1000}, 22.0, at::kFloat)));
  EXPECT_TRUE(at::equal(on_host(other), at::full({1000}, 4.0, at::kFloat)));
}

TEST_F(GpuReducer, TakesUpAnotherStepAfterARecordingThatWasGivenUp) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  at::Tensor values = made([&] { return at::ones({1000}, floats()); });
  const auto work = [&] {
    values.add_(1.0);
    reducer->all_reduce(values);
    reducer->join();
  };
  stream().run(work);
  stream().wait();
  EXPECT_ANY_THROW(stream().capture([&] {
    reducer->all_reduce(values);
    reducer->all_reduce(values);
    throw InternalError("given up with two operations that are not joined");
  }));
  stream().run([&] {
    reducer->join(1);
    work();
  });
  stream().wait();
  reducer->check();
  EXPECT_EQ(on_host(values).sum().item<float>(), 3000.0F);
}

TEST_F(GpuReducer, SaysThatTheGroupWasGivenUp) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  groups[0]->abort({objective::FailureKind::kOutOfMemory, "not enough memory"});
  EXPECT_THROW(reducer->check(), objective::GroupAborted);
}

TEST_F(GpuReducer, LeavesAGroupWhoseOperationsAreInAGraph) {
  const auto groups = testing::make_local_groups(1);
  const auto reducer = accelerator().make_reducer(*groups[0], 0);
  at::Tensor values = made([&] { return at::ones({1000}, floats()); });
  const auto work = [&] {
    reducer->all_reduce(values);
    reducer->join();
  };
  stream().run(work);
  stream().wait();
  const auto graph = stream().capture(work);
  groups[0]->abort({objective::FailureKind::kOutOfMemory, "not enough memory"});
  EXPECT_THROW(reducer->check(), objective::GroupAborted);
  EXPECT_THROW(stream().run(work), InternalError);
}

TEST_F(GpuReducer, RefusesTwoMembersOfADeviceWhichAreStagedThen) {
  const auto groups = testing::make_local_groups(2);
  const auto train = [&](objective::TrialGroup& group) {
    EXPECT_THROW(accelerator().make_reducer(group, 0), UserError);
    const auto reducer = make_staged_reducer(group, false);
    const auto own = accelerator().make_stream(0);
    at::Tensor values;
    own->run([&] {
      values = at::ones({1000}, floats()).mul(static_cast<double>(group.member() + 1));
      reducer->all_reduce(values);
      reducer->join();
      EXPECT_EQ(values.sum().item<float>(), 3000.0F);
    });
  };
  std::thread other([&] { train(*groups[1]); });
  train(*groups[0]);
  other.join();
}

}  // namespace
}  // namespace skyline::train

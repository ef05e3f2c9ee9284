// Groups on a GPU. NCCL allows one member a device, so the group has one here; others are staged.
#include "skyline/core/error.hpp"

#include "cuda/gpu_fixture.hpp"
#include "support/local_groups.hpp"

#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
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
    reducer->reduce_scatter(values, part);
    reducer->all_gather(part, gathered);
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
  const auto work = [&] { reducer->all_reduce(values); };
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
      EXPECT_EQ(values.sum().item<float>(), 3000.0F);
    });
  };
  std::thread other([&] { train(*groups[1]); });
  train(*groups[0]);
  other.join();
}

}  // namespace
}  // namespace skyline::train

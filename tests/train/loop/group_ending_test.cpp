// How a group ends: stopped, diverged, failed or measured, and always on all its members.
#include "skyline/train/layer_op.hpp"

#include "train/fixtures/trainings.hpp"

#include <new>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam_options;
using test::evaluator_of;
using test::every_layer_trial;
using test::GroupRun;
using test::kLatency;
using test::make_trial;
using test::NetworkBuilder;
using test::Sharding;
using test::Statistics;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;
using trial::Trial;

TEST(GroupEnding, EndsByConsensusIfItWasStoppedBeforeItBegan) {
  GroupRun run(3);
  run.contexts[1].stop_after_polls = 0;
  run.evaluate(*evaluator_of(adam_options()), every_layer_trial(26));
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).reason, "stopped on request in step 0 of 26");
  }
  EXPECT_EQ(run.leader().saves, 0);
}

TEST(GroupEnding, StopsInTheMidstOfRecalibration) {
  TrainingOptions options = adam_options();
  options.recalibrate = 12;
  GroupRun run(2);
  run.contexts[1].stop_after_polls = 28;  // one before the 26 steps, and one at the first batch of 12
  run.evaluate(*evaluator_of(options), every_layer_trial(26));
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).reason, "stopped on request in step 26 of 26");
  }
  EXPECT_EQ(run.contexts[1].polls(), 29);
  EXPECT_EQ(run.leader().saves, 1);
}

TEST(GroupEnding, StopsWhileTheLeaderWaitsForTheParentsWeights) {
  Trial trial = every_layer_trial(26);
  trial.proposal.start = trial::Inherit{0, trial.proposal.architecture, 1.0};
  GroupRun run(2);
  run.leader().stop_after_polls = 0;
  run.evaluate(*evaluator_of(adam_options()), trial);
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kStopped);
  }
}

TEST(GroupEnding, LetsTheLeaderAloneMeasureTheLatency) {
  GroupRun run(3);
  run.evaluate(*evaluator_of(adam_options(), true), every_layer_trial(5));
  const double latency_ms = std::get<Measurements>(run.outcomes[0]).values[kLatency];
  EXPECT_GT(latency_ms, 0);
  for (const Outcome& outcome : run.outcomes) {
    EXPECT_EQ(std::get<Measurements>(outcome).values[kLatency], latency_ms);
  }
  // Five steps, one agreement each and one before, two for two rounds of scoring; the leader's passes are
  // more.
  EXPECT_GT(run.leader().polls(), run.contexts[1].polls());
}

TEST(GroupEnding, StopsWhileTheLeaderMeasuresTheLatency) {
  GroupRun undisturbed(2);
  const auto evaluator = evaluator_of(adam_options(), true);
  undisturbed.evaluate(*evaluator, every_layer_trial(5));
  GroupRun run(2);
  run.leader().stop_after_polls = undisturbed.leader().polls() - 1;
  run.evaluate(*evaluator, every_layer_trial(5));
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).reason, "stopped on request in step 5 of 5");
  }
  EXPECT_EQ(run.leader().last_saved.step, 5);
}

enum class Fault { kNone, kMemory, kTorch, kOther };

/// How a FaultyOp of this thread fails, and in which pass: forward and backward count one each.
thread_local Fault fault = Fault::kNone;
thread_local int passes_left = 0;

class FaultyOp final : public FusedOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override { return inputs.front(); }
  at::Tensor forward(const Activations& inputs) override {
    pass();
    return inputs.front();
  }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    pass();
    return {gradient};
  }
  at::Tensor infer(const Activations& inputs) override { return inputs.front(); }

 private:
  static void pass() {
    if (fault == Fault::kNone || --passes_left > 0) return;
    if (fault == Fault::kMemory) throw std::bad_alloc();
    TORCH_CHECK(fault != Fault::kTorch, "a tensor of the wrong shape");
    throw std::runtime_error("a fault of another kind");
  }
};

TEST(GroupEnding, EndsForAllWithTheFailureOfOneMember) {
  register_layer_op("faulty", [](const space::Layer&, LayerTensors&) -> std::unique_ptr<LayerOp> {
    return std::make_unique<FaultyOp>();
  });
  const Trial trial = make_trial(
      NetworkBuilder({2, 8, 8}).conv2d(8, 3).batch_norm().plain("faulty").flatten().linear(6).build(), 1, 5);
  struct Case {
    Fault fault;
    int pass;  // even: in backward, with gradients under way
    FailureKind kind;
    const char* reason;
  };
  const Case cases[] = {{Fault::kMemory, 1, FailureKind::kOutOfMemory, "not enough memory for the network"},
                        {Fault::kMemory, 6, FailureKind::kOutOfMemory, "not enough memory for the network"},
                        {Fault::kTorch, 3, FailureKind::kException, "a tensor of the wrong shape"},
                        {Fault::kOther, 4, FailureKind::kException, "a fault of another kind"}};
  for (const Statistics statistics : {Statistics::kLocal, Statistics::kSynchronized}) {
    for (const Case& one : cases) {
      for (std::size_t faulty = 0; faulty < 3; ++faulty) {
        GroupRun run(3);
        run.evaluate(*evaluator_of(test::with_group(adam_options(), statistics, Sharding::kGradients)), trial,
                     [&](std::size_t member) {
                       fault = member == faulty ? one.fault : Fault::kNone;
                       passes_left = one.pass;
                     });
        for (const Outcome& outcome : run.outcomes) {
          ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
          EXPECT_EQ(std::get<Failure>(outcome).kind, one.kind);
          EXPECT_EQ(std::get<Failure>(outcome).reason, one.reason);
        }
        EXPECT_EQ(run.leader().course.empty(), one.pass < 3) << "a pass that fails in the first step";
      }
    }
  }
}

}  // namespace
}  // namespace skyline::train

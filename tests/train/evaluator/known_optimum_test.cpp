// Networks of one layer train to the optimum that is known in closed form, on data of every kind.

#include "support/scratch_folder.hpp"
#include "support/written_dataset.hpp"
#include "support/yaml_config.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/scoring/metrics.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_lstsq.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

constexpr int kTrained = 200;
constexpr int kHeldOut = 80;

/// What a trial measures, and the samples as a regression sees them.
struct Fitted {
  std::vector<double> values;
  at::Tensor rows;  // float64 [samples, features + 1], the last one 1; those held out at the end
  at::Tensor targets;
  at::Tensor trained(const at::Tensor& all) const { return all.narrow(0, 0, kTrained); }
  at::Tensor held_out(const at::Tensor& all) const { return all.narrow(0, kTrained, kHeldOut); }
};

class KnownOptimum : public ::testing::TestWithParam<Kernels> {
 protected:
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    return sum;
  }

  /// Correlated features of very different scales: the mean over the length of each channel.
  void draw_values(space::Shape shape, double constant = 0) {
    contents.shape = shape;
    std::vector<double> rows;
    for (auto [part, count] :
         {std::pair(&contents.train, kTrained), std::pair(&contents.validation, kHeldOut)}) {
      auto& values = part->values.emplace<std::vector<float>>();
      for (int i = 0; i < count; ++i) {
        double feature = normal();
        for (std::int64_t c = 0; c < shape.channels; ++c) {
          feature = 0.5 * feature + normal();
          double mean = 0;
          for (std::int64_t p = 0; p < shape.width; ++p) {
            const double spread = shape.width > 1 ? 0.3 * normal() : 0;
            const double value = constant != 0 ? constant : 100 + std::pow(10, c) * (feature + spread);
            values.push_back(static_cast<float>(value));
            mean += static_cast<double>(values.back()) / static_cast<double>(shape.width);
          }
          rows.push_back((mean - 100) / std::pow(10, c));
        }
      }
    }
    fitted.rows = at::tensor(rows, at::kDouble).view({kTrained + kHeldOut, shape.channels});
  }

  /// Two or three outputs that depend on the features, with noise. @param put  takes a value of an output
  template <typename T, typename Put>
  void draw_targets(int outputs, Put put) {
    for (int i = 0; i < outputs; ++i) contents.class_names.push_back("output " + std::to_string(i));
    const at::Tensor one = at::ones({kTrained + kHeldOut, 1}, at::kDouble);
    std::vector<double> all;
    for (int sample = 0; sample < kTrained + kHeldOut; ++sample) {
      store::Samples& part = sample < kTrained ? contents.train : contents.validation;
      if (sample == 0 || sample == kTrained) part.targets = std::vector<T>();
      for (int i = 0; i < outputs; ++i) {
        double value = 0.3 + i;
        for (std::int64_t c = 0; c < fitted.rows.size(1); ++c) {
          value += fitted.rows[sample][c].item<double>() * (1 - 0.4 * static_cast<double>(i + c));
        }
        std::get<std::vector<T>>(part.targets).push_back(put(value));
        all.push_back(static_cast<double>(std::get<std::vector<T>>(part.targets).back()));
      }
    }
    fitted.rows = at::cat({fitted.rows, one}, 1);
    fitted.targets = at::tensor(all, at::kDouble).view({kTrained + kHeldOut, outputs});
  }

  void train(const space::Network& network, TrainingOptions options, double epochs) {
    const testing::ScratchFolder folder;
    skyline::testing::write_dataset(folder / "set.h5", contents);
    std::shared_ptr<const store::Dataset> data = store::Dataset::open(folder / "set.h5", true);
    const store::SplitIndices split = store::split_dataset(*data, std::nullopt, std::nullopt, 1);
    options.batch = kTrained;
    options.optimizer.kind = OptimizerOptions::Kind::kSgd;
    const auto evaluator = make_training_evaluator(options, Normalization::kStandard, data, split, false,
                                                   {make_host_accelerator(GetParam()), 0});
    test::RecordingContext context;
    const auto outcome = evaluator->evaluate(test::make_trial(network, epochs, 3), context);
    ASSERT_NE(std::get_if<trial::Measurements>(&outcome), nullptr);
    fitted.values = std::get<trial::Measurements>(outcome).values;
  }

  void expect_least_squares() {
    TrainingOptions options;
    options.metrics = {{"mse", ConfigNode::make_map({}, {})}, {"mae", ConfigNode::make_map({}, {})}};
    options.optimizer.learning_rate = 0.2;
    test::NetworkBuilder builder(contents.shape);
    if (contents.shape.width > 1) builder.global_average_pool();
    train(builder.linear(2).build(), options, 600);
    const at::Tensor weights =
        std::get<0>(at::linalg_lstsq(fitted.trained(fitted.rows), fitted.trained(fitted.targets)));
    const at::Tensor errors = fitted.rows.matmul(weights) - fitted.targets;
    const double least = fitted.trained(errors).square().mean().item<double>();
    EXPECT_NEAR(fitted.values[3], least, 1e-4 * least);
    const double held_out = fitted.held_out(errors).square().mean().item<double>();
    EXPECT_NEAR(fitted.values[0], held_out, 1e-3 * held_out);
    EXPECT_NEAR(fitted.values[2], held_out, 1e-3 * held_out);
    const double absolute = fitted.held_out(errors).abs().mean().item<double>();
    EXPECT_NEAR(fitted.values[1], absolute, 1e-3 * absolute);
  }

  RandomStream random{8};
  skyline::testing::DatasetContents contents;
  Fitted fitted;
};

TEST_P(KnownOptimum, OfATableOfNumbersIsThatOfTheNormalEquations) {
  draw_values({4, 1, 1});
  draw_targets<float>(2, [&](double value) { return static_cast<float>(value + 0.5 * normal()); });
  expect_least_squares();
}

TEST_P(KnownOptimum, OfSequencesIsThatOfTheNormalEquations) {
  draw_values({3, 1, 7});
  draw_targets<float>(2, [&](double value) { return static_cast<float>(value + 0.5 * normal()); });
  expect_least_squares();
}

TEST_P(KnownOptimum, OfLabelsIsThatOfALogisticFitOfEach) {
  draw_values({4, 1, 1});
  draw_targets<std::uint8_t>(3, [&](double value) {
    return static_cast<std::uint8_t>(random.uniform() < 1 / (1 + std::exp(-value)) ? 1 : 0);
  });
  TrainingOptions options;
  options.optimizer.learning_rate = 2;
  train(test::NetworkBuilder(contents.shape).linear(3).build(), options, 800);

  const at::Tensor rows = fitted.trained(fitted.rows);
  at::Tensor weights = at::zeros({5, 3}, at::kDouble);
  for (int i = 0; i < 3; ++i) {  // Newton's method
    const at::Tensor wanted = fitted.trained(fitted.targets).select(1, i);
    at::Tensor own = weights.select(1, i);
    for (int round = 0; round < 20; ++round) {
      const at::Tensor share = at::sigmoid(rows.matmul(own));
      const at::Tensor curvature = rows.t().matmul(rows * (share * (1 - share)).unsqueeze(1));
      own.add_(at::linalg_solve(curvature, rows.t().matmul(wanted - share)));
    }
  }
  const at::Tensor outputs = fitted.rows.matmul(weights);
  const auto loss_of = [](const at::Tensor& said, const at::Tensor& wanted) {
    return at::binary_cross_entropy_with_logits(said, wanted).item<double>();
  };
  EXPECT_NEAR(fitted.values[2], loss_of(fitted.trained(outputs), fitted.trained(fitted.targets)), 1e-5);
  EXPECT_NEAR(fitted.values[1], loss_of(fitted.held_out(outputs), fitted.held_out(fitted.targets)), 1e-3);

  const at::Tensor said = fitted.held_out(outputs).to(at::kFloat).contiguous();
  const auto auc = find_metric("auc")->make(ConfigNode(), 3);
  const at::Tensor wanted = fitted.held_out(fitted.targets).to(at::kFloat).contiguous();
  for (int i = 0; i < kHeldOut; ++i) {
    auc->add({said.const_data_ptr<float>() + 3 * i, 3},
             {.values = {wanted.const_data_ptr<float>() + 3 * i, 3}});
  }
  EXPECT_NEAR(fitted.values[0], auc->value(), 2e-3);
}

TEST_P(KnownOptimum, OfTheAbsoluteErrorOfAConstantIsTheMedian) {
  draw_values({2, 1, 1}, 7);
  draw_targets<float>(1, [&](double /*value*/) { return static_cast<float>(std::exp(normal())); });
  TrainingOptions options;
  options.loss = LossOrMetric{"mae", ConfigNode::make_map({}, {})};
  options.metrics = {{"mse", ConfigNode::make_map({}, {})}};
  options.optimizer.learning_rate = 0.02;
  options.schedule.decay = ScheduleOptions::Decay::kLinear;
  train(test::NetworkBuilder(contents.shape).linear(1).build(), options, 600);
  const at::Tensor wanted = fitted.trained(fitted.targets);
  const double least = (wanted - wanted.median()).abs().mean().item<double>();
  EXPECT_NEAR(fitted.values[2], least, 1e-3 * least);
}

INSTANTIATE_TEST_SUITE_P(Kernels, KnownOptimum, ::testing::Values(Kernels::kOwn, Kernels::kAten),
                         [](const auto& given) { return given.param == Kernels::kOwn ? "Own" : "Aten"; });

}  // namespace
}  // namespace skyline::train

#include "evaluate/computed/computed_evaluator.hpp"

#include "skyline/core/option_table.hpp"

#include "trial/given_metric.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::evaluate {
namespace {

using trial::GivenMetric;

struct ComputedOptions {
  std::vector<GivenMetric> metrics = {};
  static const OptionTable<ComputedOptions>& table();
};

const OptionTable<ComputedOptions>& ComputedOptions::table() {
  static const OptionTable<ComputedOptions> table{
      {"metrics", &ComputedOptions::metrics,
       trial::given_by_name(GivenMetric::table(), "metrics by name, e.g. {area: {is: $a * $b}}"),
       "Metrics that expressions give."}};
  return table;
}

class ComputedEvaluator final : public trial::Evaluator {
 public:
  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial& /*trial*/, trial::EvaluationContext& /*context*/) override {
    return trial::Measurements{};
  }
};

}  // namespace

EvaluatorKind computed_kind() {
  return {.name = "computed",
          .meaning =
              "No training: all objectives and constraints are costs of networks, or expressions give them.",
          .metrics = [](const ConfigNode& /*section*/,
                        store::TargetKind /*targets*/) { return std::vector<trial::Metric>(); },
          .keys = std::make_shared<const OptionTable<ComputedOptions>>(ComputedOptions::table()),
          .is_plain = true,
          .needs =
              [](const ConfigNode& /*section*/) { return EvaluatorNeeds{.network = false, .seeded = false}; },
          .make = [](const ConfigNode& /*section*/, const EvaluatorServices& /*services*/)
              -> std::unique_ptr<trial::Evaluator> { return std::make_unique<ComputedEvaluator>(); },
          .describe =
              [](const ConfigNode& /*section*/, const EvaluatorServices& /*services*/) {
                return std::vector<std::string>{"nothing is trained: all objectives are computed"};
              }};
}

}  // namespace skyline::evaluate

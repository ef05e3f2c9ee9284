#include "additions.hpp"

#include <algorithm>

using namespace skyline;

namespace {

struct BalanceOptions {
  double target = 20'000;
  static const OptionTable<BalanceOptions>& table() {
    static const OptionTable<BalanceOptions> table{
        {"target", &BalanceOptions::target, above(0), "Number of parameters at which the balance is 1."}};
    return table;
  }
};

class BalanceEvaluator final : public trial::Evaluator {
 public:
  explicit BalanceEvaluator(double target) : target_(target) {}

  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& /*context*/) override {
    const auto parameters = static_cast<double>(trial.architecture().cost.parameters);
    return trial::Measurements{{std::min(parameters, target_) / std::max(parameters, target_)}};
  }

 private:
  double target_;
};

}  // namespace

evaluate::EvaluatorKind balance_kind() {
  return {.name = "balance",
          .meaning = "How near a network's size is to a target.",
          .metrics =
              [](const ConfigNode& /*section*/, store::TargetKind /*targets*/) {
                return std::vector<trial::Metric>{{.name = "balance", .range = {0, 1}}};
              },
          .keys = std::make_shared<const OptionTable<BalanceOptions>>(BalanceOptions::table()),
          .needs = [](const ConfigNode&) { return evaluate::EvaluatorNeeds{}; },
          .make =
              [](const ConfigNode& section, const evaluate::EvaluatorServices&) {
                return std::make_unique<BalanceEvaluator>(BalanceOptions::table().parse(section).target);
              }};
}

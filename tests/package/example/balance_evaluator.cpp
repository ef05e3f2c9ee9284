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

  std::vector<std::string> metrics() const override { return {"balance"}; }
  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& /*context*/) override {
    const auto parameters = static_cast<double>(trial.architecture().network.cost.parameters);
    return trial::Measurements{{std::min(parameters, target_) / std::max(parameters, target_)}};
  }

 private:
  double target_;
};

class BalanceEvaluatorKind final : public app::EvaluatorKind {
 public:
  std::string_view name() const override { return "balance"; }
  std::vector<std::string> metrics() const override { return {"balance"}; }

  std::string_view meaning() const override { return "How near a network's size is to a target."; }
  const KeyTable& keys() const override { return BalanceOptions::table(); }

  std::unique_ptr<trial::Evaluator> make(const ConfigNode& section,
                                         const app::EvaluatorInputs& /*inputs*/) const override {
    return std::make_unique<BalanceEvaluator>(BalanceOptions::table().parse(section).target);
  }
};

}  // namespace

std::unique_ptr<app::EvaluatorKind> make_balance_evaluator_kind() {
  return std::make_unique<BalanceEvaluatorKind>();
}

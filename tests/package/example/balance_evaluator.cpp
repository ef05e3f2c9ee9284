#include "additions.hpp"

#include <algorithm>

using namespace skyline;

namespace {

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

  ConfigNode complete(const ConfigNode& section) const override {
    double target = 20'000;
    if (!section.is_null()) {
      section.allow_only({"target"});
      if (const ConfigNode* node = section.find("target")) {
        target = node->as_number();
        if (!(target > 0)) node->fail_expected("a number of parameters above 0");
      }
    }
    return ConfigNode::make_map({{"target", ConfigNode::make_number(target), {}}}, {});
  }

  std::unique_ptr<trial::Evaluator> make(const ConfigNode& section,
                                         const app::EvaluatorInputs& /*inputs*/) const override {
    return std::make_unique<BalanceEvaluator>(section.at("target").as_number());
  }
};

}  // namespace

std::unique_ptr<app::EvaluatorKind> make_balance_evaluator_kind() {
  return std::make_unique<BalanceEvaluatorKind>();
}

#include "skyline/evaluate/evaluator_kind.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/option_table.hpp"

#include "core/registry.hpp"
#include "evaluate/command_evaluator.hpp"
#include "evaluate/synthetic/synthetic_evaluator.hpp"
#include "evaluate/table/table_evaluator.hpp"
#include "trial/given_metric.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::evaluate {
namespace {

using trial::GivenMetric;
using Kinds = Registry<EvaluatorKind>;

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

/// The evaluator of a search whose objectives are all computed: it trains and measures nothing. A
/// configuration that states no evaluator has it where objectives and constraints are costs of networks.
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

Kinds& registry() {
  static Kinds kinds("evaluator", [](Kinds& built_in) {
    built_in.add("command", command_kind());
    built_in.add("computed", computed_kind());
    built_in.add("synthetic", synthetic_kind());
    built_in.add("table", table_kind());
  });
  return kinds;
}

}  // namespace

void register_evaluator(EvaluatorKind kind) {
  const std::string name = kind.name;
  require(kind.metrics && kind.keys != nullptr && kind.needs && kind.make,
          "an evaluator must have `metrics`, `keys`, `needs` and `make`");
  registry().add(name, std::move(kind));
}

const EvaluatorKind* find_evaluator(std::string_view name) {
  return registry().find(name);
}

std::vector<std::string> evaluator_names() {
  return registry().names();
}

}  // namespace skyline::evaluate

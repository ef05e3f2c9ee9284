#include "evaluate/computed/computed_evaluator.hpp"

#include "skyline/core/option_table.hpp"

#include "core/config/config_text.hpp"
#include "trial/given_metric.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::evaluate {
namespace {

using trial::GivenMetric;

/// Reads `{area: {is: $a * $b}}`.
OptionKind<std::vector<GivenMetric>> given_by_name() {
  ConfigNode schema = ConfigNode::make_map({{"type", schema_text("object"), {}}}, {});
  schema.set("additionalProperties", GivenMetric::table().schema());
  OptionKind<std::vector<GivenMetric>> kind{{"metrics by name, e.g. {area: {is: $a * $b}}", schema}};
  kind.sections = {{"NAME", std::make_shared<const OptionTable<GivenMetric>>(GivenMetric::table())}};
  kind.read = [](const ConfigNode& node, std::vector<GivenMetric>& metrics) {
    if (!node.is_map()) return false;
    metrics.clear();
    for (const ConfigNode::Entry& entry : node.entries())
      metrics.push_back(trial::read_given_metric(node, entry));
    return true;
  };
  kind.write = [](const std::vector<GivenMetric>& metrics) {
    if (metrics.empty()) return ConfigNode();
    std::vector<ConfigNode::Entry> entries;
    for (const GivenMetric& metric : metrics) {
      entries.push_back({metric.name, GivenMetric::table().to_config(metric), {}});
    }
    return ConfigNode::make_map(std::move(entries), {});
  };
  return kind;
}

struct ComputedOptions {
  std::vector<GivenMetric> metrics = {};
  static const OptionTable<ComputedOptions>& table();
};

const OptionTable<ComputedOptions>& ComputedOptions::table() {
  static const OptionTable<ComputedOptions> table{
      {"metrics", &ComputedOptions::metrics, given_by_name(), "Metrics that expressions give."}};
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

#include "skyline/app/evaluator_kind.hpp"

#include "skyline/core/error.hpp"

#include "app/config/config_sections.hpp"
#include "core/registry.hpp"
#include "evaluate/synthetic_evaluator.hpp"

#include <algorithm>
#include <memory>

namespace skyline::app {
namespace {

class SyntheticKind final : public EvaluatorKind {
 public:
  std::string_view name() const override { return "synthetic"; }
  std::string_view meaning() const override {
    return "Results from a closed formula in place of training, to try out a configuration or a cluster.";
  }
  std::vector<std::string> metrics() const override {
    return evaluate::make_synthetic_evaluator({})->metrics();
  }
  const KeyTable& keys() const override { return evaluate::SyntheticOptions::table(); }
  std::unique_ptr<trial::Evaluator> make(const ConfigNode& section,
                                         const EvaluatorInputs& /*inputs*/) const override {
    return evaluate::make_synthetic_evaluator(evaluate::SyntheticOptions::table().parse(section));
  }
};

using Kinds = Registry<std::unique_ptr<EvaluatorKind>>;

Kinds& registry() {
  static Kinds kinds("evaluator",
                     [](Kinds& built_in) { built_in.add("synthetic", std::make_unique<SyntheticKind>()); });
  return kinds;
}

}  // namespace

void register_evaluator(std::unique_ptr<EvaluatorKind> kind) {
  const std::string name(kind->name());
  if (std::ranges::count(own_sections().names(), name) > 0) {
    throw InternalError("an evaluator `" + name + "` cannot be registered: there is a section of that name");
  }
  registry().add(name, std::move(kind));
}

const EvaluatorKind* find_evaluator(std::string_view name) {
  const auto* kind = registry().find(name);
  return kind == nullptr ? nullptr : kind->get();
}

std::vector<std::string> evaluator_names() {
  return registry().names();
}

}  // namespace skyline::app

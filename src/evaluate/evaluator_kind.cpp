#include "skyline/evaluate/evaluator_kind.hpp"

#include "skyline/core/error.hpp"

#include "core/registry.hpp"
#include "evaluate/command_evaluator.hpp"
#include "evaluate/computed/computed_evaluator.hpp"
#include "evaluate/synthetic/synthetic_evaluator.hpp"
#include "evaluate/table/table_evaluator.hpp"

#include <utility>

namespace skyline::evaluate {
namespace {

using Kinds = Registry<EvaluatorKind>;

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

#include "skyline/app/evaluator_kind.hpp"

#include "skyline/core/error.hpp"

#include "app/config/config_sections.hpp"
#include "evaluate/synthetic_evaluator.hpp"

#include <algorithm>
#include <map>

namespace skyline::app {
namespace {

class SyntheticKind final : public EvaluatorKind {
 public:
  std::string_view name() const override { return "synthetic"; }
  std::vector<std::string> metrics() const override {
    return evaluate::make_synthetic_evaluator({})->metrics();
  }
  ConfigNode complete(const ConfigNode& section) const override {
    return evaluate::SyntheticOptions::table().complete(section);
  }
  std::unique_ptr<trial::Evaluator> make(const ConfigNode& section,
                                         const EvaluatorInputs& /*inputs*/) const override {
    return evaluate::make_synthetic_evaluator(evaluate::SyntheticOptions::table().parse(section));
  }
};

using Registry = std::map<std::string, std::unique_ptr<EvaluatorKind>, std::less<>>;

void add(Registry& kinds, std::unique_ptr<EvaluatorKind> kind) {
  const std::string name(kind->name());
  const bool section = std::ranges::find(kConfigSections, name) != kConfigSections.end();
  if (section || !kinds.emplace(name, std::move(kind)).second) {
    throw InternalError("an evaluator `" + name + "` cannot be registered: there is a section of that name");
  }
}

// Kinds are registered by name here and not by static objects, which a static library would drop.
Registry& registry() {
  static Registry kinds = [] {
    Registry built_in;
    add(built_in, std::make_unique<SyntheticKind>());
    return built_in;
  }();
  return kinds;
}

}  // namespace

void register_evaluator(std::unique_ptr<EvaluatorKind> kind) {
  add(registry(), std::move(kind));
}

const EvaluatorKind* find_evaluator(std::string_view name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : found->second.get();
}

std::vector<std::string> evaluator_names() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : registry()) names.push_back(name);
  return names;
}

}  // namespace skyline::app

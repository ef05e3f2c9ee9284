#include "app/config/evaluator_section.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/text/wording.hpp"
#include "train/loading/training_kind.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace skyline::app {
namespace {

/// Returns the registered evaluators whose sections a configuration has.
std::vector<const evaluate::EvaluatorKind*> evaluators_in(const ConfigNode& root) {
  train::register_training();
  std::vector<const evaluate::EvaluatorKind*> found;
  if (!root.is_map()) return found;
  for (const std::string& name : evaluate::evaluator_names()) {
    if (root.find(name) != nullptr) found.push_back(evaluate::find_evaluator(name));
  }
  return found;
}

bool is_cost(const std::string& metric) {
  return trial::find_metric(objective::cost_metrics(), metric) != nullptr;
}

/// Returns whether there are objectives, and all of them and of the constraints name costs of networks.
bool aims_at_costs(const ConfigNode& root) {
  const ConfigNode* const objectives = root.find("objectives");
  const ConfigNode* const constraints = root.find("constraints");
  if (objectives == nullptr || !objectives->is_list() || objectives->items().empty()) return false;
  const auto aims_at_cost = [](const ConfigNode& item) {
    return item.is_map() && std::ranges::any_of(item.entries(), [](const ConfigNode::Entry& entry) {
             return entry.value.is_scalar() && is_cost(entry.value.as_text());
           });
  };
  const auto bounds_cost = [](const ConfigNode& item) {
    return item.is_map() && item.entries().size() == 1 && is_cost(item.entries().front().key);
  };
  const bool is_bounded = constraints != nullptr && constraints->is_list();
  return std::ranges::all_of(objectives->items(), aims_at_cost) &&
         (!is_bounded || std::ranges::all_of(constraints->items(), bounds_cost));
}

}  // namespace

ConfigNode with_implied_evaluator(ConfigNode root) {
  const ConfigNode* const space = root.is_map() ? root.find("space") : nullptr;
  const bool has_network = space != nullptr && space->is_map() && space->find("network") != nullptr;
  if (!has_network || !evaluators_in(root).empty() || !aims_at_costs(root)) return root;
  root.set("computed", ConfigNode::make_map({}, root.position()));
  root.assign_paths();
  return root;
}

ChosenEvaluator evaluator_of(const ConfigNode& resolved) {
  const evaluate::EvaluatorKind* kind = named_evaluator(resolved);
  if (kind == nullptr) {
    resolved.fail("has no section of an evaluator that this program knows: " +
                  joined(evaluate::evaluator_names()));
  }
  const ConfigNode written = with_first_values(resolved, searched_section(resolved)).at(kind->name);
  const ConfigNode section = kind->keys->complete(written);
  return {kind, section, kind->needs(section), written};
}

std::optional<ChosenEvaluator> known_evaluator(const ConfigNode& resolved) {
  try {
    return evaluator_of(resolved);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool may_depend_on_seeds(const ConfigNode& resolved) {
  const auto evaluator = known_evaluator(resolved);
  return evaluator && evaluator->needs.seeded;
}

const evaluate::EvaluatorKind* named_evaluator(const ConfigNode& root) {
  const auto found = evaluators_in(root);
  return found.size() == 1 ? found.front() : nullptr;
}

space::SearchedSection searched_section(const ConfigNode& root) {
  const ConfigNode* space = root.is_map() ? root.find("space") : nullptr;
  for (const evaluate::EvaluatorKind* kind : evaluators_in(root)) {
    const ConfigNode& section = root.at(kind->name);
    if (!section.is_map() || space == nullptr || !space->is_map()) continue;
    return {section, *space, kind->searchable, kind->keys->names(), kind->is_plain};
  }
  return {};
}

ConfigNode with_first_values(ConfigNode root, const space::SearchedSection& searched) {
  if (searched.written().empty()) return root;
  const ConfigNode section = searched.with_first_values();
  const KeyTable& keys = *evaluate::find_evaluator(section.path())->keys;
  searched.check([&](const ConfigNode& tried) { (void)keys.complete(tried); });
  root.set(section.path(), section);
  root.assign_paths();
  return root;
}

}  // namespace skyline::app

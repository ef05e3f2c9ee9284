#include "app/config/run_identity.hpp"

#include "skyline/objective/objective_set.hpp"

#include "app/config/config_sections.hpp"
#include "app/config/evaluator_section.hpp"
#include "core/config/config_text.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

/// Writes equal numbers as equal text.
ConfigNode canonical_scalar(const ConfigNode& node) {
  if (node.quoted()) return node;
  if (const auto integer = integer_in(node.as_text())) return ConfigNode::make_integer(*integer);
  if (const auto number = number_in(node.as_text())) {
    return ConfigNode::make_scalar(objective::number_text(*number), {});
  }
  return node;
}

/// Returns whether parameters of the space have a value at each place that names them.
bool has_places(const ConfigNode& root) {
  const ConfigNode* parameters = root.at("space").find("parameters");
  if (parameters == nullptr || !parameters->is_map()) return false;
  return std::ranges::any_of(parameters->entries(), [](const ConfigNode::Entry& parameter) {
    const ConfigNode* each = parameter.value.is_map() ? parameter.value.find("each") : nullptr;
    return each != nullptr && flag_in(each->as_text()).value_or(false);
  });
}

/// Returns whether the order of keys decides the order of the genotype: that of parameters, and, if some have
/// a value at each place, that of places in the network. The last node of a cell is its output.
bool is_ordered(const ConfigNode& node, bool has_places) {
  return node.path() == "space.parameters" || node.path().ends_with(".cell") ||
         (has_places && node.path().starts_with("space."));
}

/// Returns a tree that has the same text for equal trees.
/// @param has_places  whether parameters of the space have a value at each place
ConfigNode canonical(const ConfigNode& node, bool has_places) {
  if (node.is_scalar()) return canonical_scalar(node);
  if (node.is_list()) {
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : node.items()) items.push_back(canonical(item, has_places));
    return ConfigNode::make_list(std::move(items), {});
  }
  if (!node.is_map()) return node;
  std::vector<ConfigNode::Entry> entries;
  for (const ConfigNode::Entry& entry : node.entries()) {
    entries.push_back({entry.key, canonical(entry.value, has_places), {}});
  }
  if (!is_ordered(node, has_places)) std::ranges::sort(entries, {}, &ConfigNode::Entry::key);
  return ConfigNode::make_map(std::move(entries), {});
}

}  // namespace

ConfigNode identity_of(const ConfigNode& resolved) {
  ConfigNode tree = all_sections().identity(resolved);
  // With inheritance the kept weights decide which parents have weights.
  const std::optional<ChosenEvaluator> evaluator = known_evaluator(resolved);
  if (evaluator && evaluator->needs.inherits)
    tree.set("run.keep_weights", resolved.at("run").at("keep_weights"));
  tree.assign_paths();
  return canonical(tree, has_places(tree));
}

std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right) {
  return first_difference(identity_of(left), identity_of(right));
}

}  // namespace skyline::app

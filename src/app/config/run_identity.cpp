// The part of a configuration that makes a run, by the tables of options.
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/objective/objective_set.hpp"

#include "app/config/config_sections.hpp"
#include "app/config/run_config.hpp"
#include "core/config/config_text.hpp"
#include "core/text/hash.hpp"

#include <algorithm>
#include <vector>

namespace skyline::app {
namespace {

/// Equal numbers as equal text.
ConfigNode canonical_scalar(const ConfigNode& node) {
  if (node.quoted()) return node;
  if (const auto integer = integer_in(node.as_text())) return ConfigNode::make_integer(*integer);
  if (const auto number = number_in(node.as_text())) {
    return ConfigNode::make_scalar(objective::number_text(*number), {});
  }
  return node;
}

/// The same text for equal trees.
ConfigNode canonical(const ConfigNode& node) {
  if (node.is_scalar()) return canonical_scalar(node);
  if (node.is_list()) {
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : node.items()) items.push_back(canonical(item));
    return ConfigNode::make_list(std::move(items), {});
  }
  if (!node.is_map()) return node;
  std::vector<ConfigNode::Entry> entries;
  for (const ConfigNode::Entry& entry : node.entries()) {
    entries.push_back({entry.key, canonical(entry.value), {}});
  }
  // The order of parameters is that of the genotype; no other order of keys matters.
  if (node.path() != "space.parameters") std::ranges::sort(entries, {}, &ConfigNode::Entry::key);
  return ConfigNode::make_map(std::move(entries), {});
}

bool inherits(const ConfigNode& resolved) {
  return std::ranges::any_of(resolved.entries(), [](const ConfigNode::Entry& entry) {
    const evaluate::EvaluatorKind* kind = evaluate::find_evaluator(entry.key);
    return kind != nullptr && kind->needs(entry.value).inherits;
  });
}

ConfigNode identity_tree(const ConfigNode& resolved) {
  ConfigNode tree = all_sections().identity(resolved);
  // With inheritance the weights that are kept say which parents have any.
  if (inherits(resolved)) tree.set("run.keep_weights", resolved.at("run").at("keep_weights"));
  tree.assign_paths();
  return canonical(tree);
}

}  // namespace

std::string RunConfig::identity_hash() const {
  return sha256_hex(to_yaml(identity_tree(resolved)));
}

std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right) {
  return first_difference(identity_tree(left), identity_tree(right));
}

}  // namespace skyline::app

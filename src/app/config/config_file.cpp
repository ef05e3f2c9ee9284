#include "app/config/config_file.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"

#include "app/config/config_sections.hpp"
#include "app/config/evaluator_section.hpp"
#include "core/config/config_text.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace skyline::app {
namespace {

/// Loads a file that a person wrote. While it is read, YAML takes some hundred times its size in memory.
ConfigNode load_written_file(const std::filesystem::path& path, bool of_run = false) {
  constexpr std::uintmax_t kMostBytes = 4U << 20U;
  std::error_code failure;  // reported when the file is read
  const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (!failure && bytes > kMostBytes) {
    throw UserError(path.string() + ": expected a configuration of at most " + std::to_string(kMostBytes) +
                    " bytes, got " + std::to_string(bytes));
  }
  return of_run ? store::load_run_yaml(path) : store::load_yaml_file(path);
}

bool is_beside_journal(const std::filesystem::path& config) {
  const store::RunPaths run{config.parent_path()};
  return config == run.config() && store::exists(run.journal());
}

/// Replaces the section `space` by the file that it names, if it names one.
/// @param path    the configuration, whose folder is searched
/// @param of_run  whether no job can have written the name of a file
void load_space(ConfigNode& root, const std::filesystem::path& path, bool of_run) {
  const ConfigNode* space = root.is_map() ? root.find("space") : nullptr;
  const ConfigNode* file = space != nullptr && space->is_map() ? space->find("file") : nullptr;
  if (file == nullptr) return;
  if (of_run) file->fail("cannot be in the configuration of a run, which has its space itself");
  if (space->entries().size() > 1) file->fail("cannot have keys beside it: the file holds the whole section");
  ConfigNode section;
  try {
    section = load_written_file(path.parent_path() / file->as_text());
  } catch (const UserError& problem) {
    if (std::filesystem::exists(path.parent_path() / file->as_text())) throw;
    file->fail(problem.what());
  }
  root.set("space", std::move(section));
  root.assign_paths();
}

/// Writes equal numbers as equal text.
ConfigNode canonical_scalar(const ConfigNode& node) {
  if (node.quoted()) return node;
  if (const auto integer = parse_integer(node.as_text())) return ConfigNode::make_integer(*integer);
  if (const auto number = parse_number(node.as_text())) {
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
    return each != nullptr && parse_bool(each->as_text()).value_or(false);
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

/// Returns the path of the first map whose keys have another order, or "". Apart from that, the trees are
/// equal.
std::string first_other_order(const ConfigNode& left, const ConfigNode& right) {
  std::string found;
  if (left.is_list()) {
    for (std::size_t i = 0; i < left.items().size() && found.empty(); ++i) {
      found = first_other_order(left.items()[i], right.items()[i]);
    }
  }
  if (!left.is_map()) return found;
  if (!std::ranges::equal(left.entries(), right.entries(), {}, &ConfigNode::Entry::key,
                          &ConfigNode::Entry::key)) {
    return left.path();
  }
  for (std::size_t i = 0; i < left.entries().size() && found.empty(); ++i) {
    found = first_other_order(left.entries()[i].value, right.entries()[i].value);
  }
  return found;
}

}  // namespace

ConfigNode load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       bool of_run) {
  of_run = of_run || is_beside_journal(path);
  ConfigNode root = load_written_file(path, of_run);
  const auto is_within_space = [](const std::string& assignment) {
    return assignment.starts_with("space.") && !assignment.starts_with("space.file=");
  };
  for (const std::string& assignment : overrides) {
    if (!is_within_space(assignment)) apply_override(root, assignment);
  }
  load_space(root, path, of_run);
  for (const std::string& assignment : overrides) {
    if (is_within_space(assignment)) apply_override(root, assignment);
  }
  return root;
}

ConfigNode identity_of(const ConfigNode& resolved) {
  ConfigNode tree = all_sections().identity(resolved);
  // If trials inherit, `run.keep_weights` decides from which parents they can, and so the results.
  const std::optional<ChosenEvaluator> evaluator = known_evaluator(resolved);
  if (evaluator && evaluator->needs.inherits)
    tree.set("run.keep_weights", resolved.at("run").at("keep_weights"));
  const search::Algorithm* algorithm =
      search::find_algorithm(resolved.at("search").at("algorithm").as_text());
  if (algorithm != nullptr && algorithm->aims_at_volumes) tree.set("objectives", resolved.at("objectives"));
  tree.assign_paths();
  return canonical(tree, has_places(tree));
}

std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right) {
  ConfigNode before = identity_of(left);
  const ConfigNode after = identity_of(right);
  const std::string different = first_difference(before, after);
  if (different.empty()) {
    before.assign_paths();
    const std::string reordered = first_other_order(before, after);
    return reordered.empty() ? "" : reordered + " (the order of its keys)";
  }
  // Whether the kept weights count follows from other keys, which are named first.
  const auto sections = all_sections();
  const std::string stated = first_difference(sections.identity(left), sections.identity(right));
  return stated.empty() ? different : stated;
}

}  // namespace skyline::app

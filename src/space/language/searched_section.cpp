#include "space/language/searched_section.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "space/expressions/combinations.hpp"
#include "space/language/space_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::size_t kMostValuesChecked = 10'000;       // values checked of one scalar
constexpr std::size_t kMostCombinationsChecked = 1'000;  // combinations checked of all scalars together

/// Returns whether a node is the expression of a given metric, which no trial is trained with.
bool is_given_metric(const ConfigNode& node) {
  return key_in_section(node).starts_with("metrics") && node.path().ends_with(".is");
}

/// Collects the scalars with a `$`, and the sections whose word a parameter chooses.
void collect(const ConfigNode& node, std::vector<ConfigNode>& found) {
  if (is_given_metric(node)) return;
  if (node.is_scalar() && node.as_text().find('$') != std::string::npos) found.push_back(node);
  if (node.is_list()) {
    for (const ConfigNode& item : node.items()) collect(item, found);
  }
  if (SearchedValue::is_section(node)) {
    found.push_back(node);
  } else if (node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) collect(entry.value, found);
  }
}

bool is_at_or_below(const std::string& key, const std::string& path) {
  return key == path || (key.starts_with(path) && key[path.size()] == '.');
}

bool is_below_one_of(const std::string& key, const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, [&](const std::string& path) { return is_at_or_below(key, path); });
}

/// Refuses a key that cannot get its value from parameters. @throws UserError
void check_searchable(const ConfigNode& scalar, const std::vector<std::string>& searchable) {
  const std::string key = key_in_section(scalar);
  if (searchable.empty()) scalar.fail("no parameter of the space can give a value here");
  if (key.find('[') != std::string::npos) scalar.fail("no parameter of the space can give a value of a list");
  if (!is_below_one_of(key, searchable)) {
    scalar.fail("no parameter of the space can give this value, only those of " + joined(searchable));
  }
}

/// Returns a value `$p` for each shared parameter p that the arguments of a user's trainer state, as `{p}` or
/// with all others in `{parameters}`: its result depends on them. Without a network all parameters count
/// anyway.
std::vector<ConfigNode> given_to_trainer(const ConfigNode& command, const SpaceForm& space) {
  const ConfigNode* run = command.is_map() && command.path() == "command" ? command.find("run") : nullptr;
  std::vector<ConfigNode> given;
  if (run == nullptr || !run->is_list() || space.network.is_null() || !space.parameters.is_map())
    return given;
  const auto is_stated = [&](const std::string& name) {
    return std::ranges::any_of(run->items(), [&](const ConfigNode& argument) {
      return argument.is_scalar() && argument.as_text().find('{' + name + '}') != std::string::npos;
    });
  };
  const bool all = is_stated("parameters");
  for (const ConfigNode::Entry& parameter : space.parameters.entries()) {
    const bool is_shared = !parameter.value.is_map() || parameter.value.find("each") == nullptr;
    if (!is_shared || (!all && !is_stated(parameter.key))) continue;
    given.push_back(ConfigNode::make_scalar('$' + parameter.key, run->position()));
    given.back().assign_paths("command.run." + parameter.key);
  }
  return given;
}

}  // namespace

std::vector<ConfigNode> searched_scalars(const ConfigNode& root) {
  std::vector<ConfigNode> found;
  for (const ConfigNode::Entry& section : root.entries()) {
    // Texts in these sections are names and paths.
    constexpr std::array<std::string_view, 4> kOthers{"space", "data", "search", "table"};
    if (std::ranges::find(kOthers, section.key) == kOthers.end()) collect(section.value, found);
  }
  const SpaceForm form = space_keys().parse(root.at("space"));
  SpaceReader reader(form, DataShape{});
  std::erase_if(found, [&](const ConfigNode& scalar) {
    // A list has no such values, and neither have the variables of a user's trainer.
    if (scalar.path().find('[') != std::string::npos || is_at_or_below(scalar.path(), "command.env"))
      return true;
    try {
      return reader.read_outside(scalar).parameters().empty();
    } catch (const UserError&) {  // a text with a dollar sign, or one that has no single value
      return true;
    }
  });
  if (const ConfigNode* command = root.find("command")) {
    for (ConfigNode& scalar : given_to_trainer(*command, form)) found.push_back(std::move(scalar));
  }
  return found;
}

std::string key_in_section(const ConfigNode& value) {
  return value.path().substr(value.path().find('.') + 1);
}

SearchedSection::SearchedSection(const ConfigNode& section, const ConfigNode& space,
                                 const std::vector<std::string>& searchable,
                                 const std::vector<std::string>& known, bool is_plain)
    : section_(section) {
  collect(section, written_);
  const auto is_text = [&](const ConfigNode& scalar) {
    return is_plain && !is_below_one_of(key_in_section(scalar), searchable);
  };
  std::erase_if(written_, is_text);
  mistakes_.attempt([&] {
    const SpaceForm form = space_keys().parse(space);
    given_ = given_to_trainer(section, form);
    if (written_.empty()) return;
    SpaceReader reader(form, DataShape{});
    for (const ConfigNode& scalar : written_) {
      const std::string key = key_in_section(scalar);
      const std::string outer = key.substr(0, key.find_first_of(".["));
      if (std::ranges::find(known, outer) == known.end()) continue;
      mistakes_.attempt([&] {
        check_searchable(scalar, searchable);
        SearchedValue read = reader.read_outside(scalar);
        if (read.names_classes()) scalar.fail("`$classes` can be used in the network only");
        values_.push_back(std::move(read));
      });
    }
    parameters_ = reader.take_parameters();
  });
}

std::vector<ConfigNode> SearchedSection::counted() const {
  std::vector<ConfigNode> all = written_;
  all.insert(all.end(), given_.begin(), given_.end());
  return all;
}

bool SearchedSection::is_named_in(const std::string& message) const {
  return std::ranges::any_of(written_, [&](const ConfigNode& scalar) {
    const std::string place = ": " + scalar.path();
    return message.find(place + ": ") != std::string::npos ||
           (!scalar.is_scalar() && message.find(place + ".") != std::string::npos);
  });
}

ConfigNode SearchedSection::with_first_values() const {
  Genotype first;
  first.choices.assign(parameters_.size(), 0);
  return with_values(first);
}

ConfigNode SearchedSection::with_values(const Genotype& genotype) const {
  ConfigNode section = section_;
  std::vector<bool> used(parameters_.size());
  for (const SearchedValue& searched : values_) {
    const Value value = searched.evaluate({parameters_, genotype, 0, used});
    section.set(key_in_section(searched.source()), node_of(value, searched.source().position()));
  }
  section.assign_paths(section_.path());
  return section;
}

void SearchedSection::check(const std::function<void(const ConfigNode& section)>& visit) const {
  if (written_.empty()) return;
  mistakes_.throw_if_any();
  try {
    visit(with_first_values());
  } catch (const UserError& problem) {
    if (!is_named_in(problem.what())) throw;  // the mistake has nothing to do with parameters
  }
  std::vector<std::size_t> all;
  for (const SearchedValue& searched : values_) {
    const std::vector<std::size_t> named = searched.parameters();
    check_values(named, visit);
    all.insert(all.end(), named.begin(), named.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  double combinations = 1;
  for (const std::size_t index : all) combinations *= static_cast<double>(parameters_[index].values.size());
  if (values_.size() > 1 && combinations <= kMostCombinationsChecked) check_values(all, visit);
}

void SearchedSection::check_values(const std::vector<std::size_t>& varied,
                                   const std::function<void(const ConfigNode& section)>& visit) const {
  Combinations combinations(parameters_, varied);
  for (std::size_t i = 0; i < kMostValuesChecked; ++i) {
    try {
      visit(with_values(combinations.current()));
    } catch (const ConfigErrors& several) {
      std::vector<std::string> lines = several.lines();
      for (std::string& line : lines) {
        if (is_named_in(line)) line += values_text(parameters_, varied, combinations.current());
      }
      throw ConfigErrors(std::move(lines));
    } catch (const UserError& problem) {
      throw UserError(problem.what() + values_text(parameters_, varied, combinations.current()));
    }
    if (!combinations.advance()) return;
  }
}

}  // namespace skyline::space

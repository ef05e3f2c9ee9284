#include "app/config/config_sections.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"

#include "app/config/evaluator_section.hpp"
#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/wording.hpp"
#include "space/language/space_keys.hpp"
#include "train/loading/training_kind.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace skyline::app {
namespace {

/// Describes the section `space`, which stays as it is written, because the search space reads it.
OptionKind<ConfigNode> space_section() {
  const auto keys = std::make_shared<OptionTable<space::SpaceForm>>(space::space_keys());
  OptionKind<ConfigNode> kind = tree("a section", keys->schema());
  kind.sections = {{"", keys}};
  return kind;
}

/// The section is not written where there are no data.
OptionKind<DataOptions> data_section() {
  OptionKind<DataOptions> kind = section(DataOptions::table());
  kind.write = [write = kind.write](const DataOptions& data) {
    return data.shape ? write(data) : ConfigNode();
  };
  return kind;
}

OptionKind<ConfigNode> as_it_stands(const ValueDescription& value) {
  OptionKind<ConfigNode> kind = tree(value.expected, value.schema);
  kind.identity = value.identity;
  return kind;
}

/// Describes the keys of the algorithm that the section names.
OptionKind<ConfigNode> search_section() {
  const std::string preset = search::algorithm_of(ConfigNode()).name;
  std::vector<ConfigNode> variants;
  std::vector<SubSection> sections;
  for (const std::string& name : search::algorithm_names()) {
    sections.push_back({name, search::find_algorithm(name)->keys});
    variants.push_back(sections.back().keys->schema());
    if (name != preset)
      variants.back().set("required", ConfigNode::make_list({schema_text("algorithm")}, {}));
  }
  const auto schema =
      ConfigNode::make_map({{"anyOf", ConfigNode::make_list(std::move(variants), {}), {}}}, {});
  OptionKind<ConfigNode> kind = tree("a section", schema);
  kind.sections = std::move(sections);
  kind.read = [](const ConfigNode& node, ConfigNode& section) {
    if (!node.is_map() && !node.is_null()) return false;
    section = search::algorithm_of(node).keys->complete(node);
    return true;
  };
  kind.identity = [](const ConfigNode& section) {
    const search::Algorithm* known = search::find_algorithm(section.at("algorithm").as_text());
    return known == nullptr ? section : known->keys->identity(section);
  };
  return kind;
}

/// Returns the schema of a section or value, with expressions of parameters allowed for each single value.
ConfigNode or_expression(const ConfigNode& schema) {
  ConfigNode open = schema;
  if (const ConfigNode* keys = schema.find("properties")) {
    for (const ConfigNode::Entry& key : keys->entries()) {
      open.set("properties." + key.key, or_expression(key.value));
    }
    return open;
  }
  std::vector<ConfigNode> variants;
  if (const ConfigNode* either = schema.find("anyOf")) {
    for (const ConfigNode& variant : either->items()) variants.push_back(or_expression(variant));
  } else {
    const ConfigNode expression =
        ConfigNode::make_map({{"type", schema_text("string"), {}}, {"pattern", schema_text("\\$"), {}}}, {});
    variants = {schema, expression};
    open = ConfigNode::make_map({}, {});
  }
  open.set("anyOf", ConfigNode::make_list(std::move(variants), {}));
  return open;
}

/// Returns the schema of a section, with expressions allowed at and below the key of this dotted path.
ConfigNode with_expressions(ConfigNode schema, const std::string& path) {
  const std::size_t dot = path.find('.');
  const std::string key = path.substr(0, dot);
  const ConfigNode& value = schema.at("properties").at(key);
  ConfigNode open =
      dot == std::string::npos ? or_expression(value) : with_expressions(value, path.substr(dot + 1));
  schema.set("properties." + key, std::move(open));
  return schema;
}

Key<ConfigSections> evaluator_section(const std::string& name) {
  const evaluate::EvaluatorKind& evaluator = *evaluate::find_evaluator(name);
  const std::shared_ptr<const KeyTable> keys = evaluator.keys;
  ConfigNode schema = keys->schema();
  for (const std::string& path : evaluator.searchable) schema = with_expressions(std::move(schema), path);
  OptionKind<ConfigSections> kind{{"a section", std::move(schema), {{"", keys}}}};
  kind.read = [name, keys](const ConfigNode& node, ConfigSections& sections) {
    if (!sections.evaluator.empty()) {
      node.fail("cannot be combined with `" + sections.evaluator + "`: a run has one of them");
    }
    sections.evaluator = name;
    sections.evaluator_section = keys->complete(node);
    return true;
  };
  kind.write = [name](const ConfigSections& sections) {
    return sections.evaluator == name ? sections.evaluator_section : ConfigNode();
  };
  kind.identity = [keys](const ConfigNode& section) { return keys->identity(section); };
  return {name, kind, evaluator.meaning};
}

/// `none` is not written, so that `--set final.epochs=3` also works for a run's configuration.
OptionKind<std::optional<FinalOptions>> final_section() {
  OptionKind<FinalOptions> keys = section(FinalOptions::table());
  OptionKind<std::optional<FinalOptions>> kind = or_keyword("none", keys);
  kind.write = if_given(keys).write;
  return kind;
}

void check_sections(const ConfigSections& sections, const ConfigNode& root) {
  if (sections.evaluator.empty()) {
    root.fail("missing the evaluator's section, expected one of " + joined(evaluate::evaluator_names()));
  }
}

constexpr std::string_view kIntroduction = R"(<!-- Made by `skyline schema --markdown`; do not edit. -->
# Configuration

A configuration is a YAML file of at most 4 MiB with the sections below, in any order. `skyline validate FILE` checks one
and prints it with every default; `--set search.iterations=3` replaces a key on the command line. An unknown key is
refused, with the nearest known one; [words of other tools](#words-of-other-tools) with what they are here. `skyline schema` prints a JSON schema, with which an editor completes and checks keys: for the YAML
language server, begin the file with `# yaml-language-server: $schema=FILE`.

A key that **may change** only bounds a run, or says what is kept and where: `--resume` accepts another value. Any other
change makes another run, and is refused.
)";

struct PageOfSection {
  std::string_view section;
  std::string_view page;
};
constexpr std::array kPages{
    PageOfSection{"data", "data.md"},          PageOfSection{"space", "spaces.md"},
    PageOfSection{"training", "training.md"},  PageOfSection{"objectives", "search.md"},
    PageOfSection{"constraints", "search.md"}, PageOfSection{"search", "search.md"}};

std::string default_cell(const KeyRow& row) {
  if (row.required) return "must be given";
  return row.fallback.empty() ? "" : "`" + row.fallback + "`";
}

std::string table(const std::vector<KeyRow>& rows) {
  std::string text = "\n| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const KeyRow& row : rows) {
    text += "| `" + row.path + "` | " + row.expected + " | " + default_cell(row) + " | " + row.meaning +
            (row.may_change ? " May change." : "") + " |\n";
  }
  if (std::ranges::any_of(rows, [](const KeyRow& row) { return !row.advice.empty(); })) text += "\n";
  for (const KeyRow& row : rows) {
    if (!row.advice.empty()) text += "- `" + row.path + "`: " + row.advice + "\n";
  }
  return text;
}

/// Returns the words of other tools, each entry a line, with the answers that refusals give.
std::string table_of_foreign_words() {
  std::string text =
      "\n## Words of other tools\n\nWhere one of these words is refused, the message says what it is here.\n\n"
      "| word | asked for as | answer |\n|---|---|---|\n";
  for (const ForeignWords& entry : foreign_words()) {
    std::string words(entry.words);
    for (std::size_t blank = words.find(' '); blank != std::string::npos; blank = words.find(' ', blank + 4))
      words.replace(blank, 1, "`, `");
    const std::string first(entry.words.substr(0, entry.words.find(' ')));
    text += "| `" + words + "` | " + std::string(entry.place.name) + " | " + answer_to(first, entry) + " |\n";
  }
  return text;
}

/// Returns hints on a section: where to read on, whether it is required, and whether it may change.
std::string section_hints(const OptionKey& section) {
  std::string hints;
  for (const auto& [name, page] : kPages) {
    if (name == section.name) hints += " See [" + std::string(page) + "](" + std::string(page) + ").";
  }
  if (section.rule == KeyRule::kRequired) hints += " Must be given.";
  if (section.rule == KeyRule::kMayChange) hints += " May change.";
  return hints;
}

}  // namespace

bool declares_metrics(const evaluate::EvaluatorKind& evaluator) {
  return evaluator.metrics({}, {}).empty();
}

std::vector<std::string> measured_metrics() {
  std::vector<std::string> names;
  for (const std::string& evaluator : evaluate::evaluator_names()) {
    for (const trial::Metric& metric : evaluate::find_evaluator(evaluator)->metrics({}, {})) {
      if (metric.when == trial::Metric::When::kEveryTrial) names.push_back(metric.name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

OptionTable<ConfigSections> all_sections() {
  using Sections = ConfigSections;
  train::register_training();
  OptionTable<Sections> table{
      {{"data", &Sections::data, data_section(),
        "The data set, or the shape of one where nothing is trained; needed where the space has a network."},
       {"space", &Sections::space, space_section(),
        "The architectures: named parameters, and a network that uses them, which may be left out where the "
        "evaluator needs none; layers.md explains the attributes of the layers.",
        KeyRule::kRequired}},
      check_sections};
  for (const std::string& name : evaluate::evaluator_names()) table.add(evaluator_section(name));
  const std::vector<std::string> metrics = measured_metrics();
  const std::initializer_list<Key<Sections>> others{
      {"objectives", &Sections::objectives, as_it_stands(objective::objectives_format(metrics, true)),
       "What the search aims at: a list of `{maximize: METRIC}` and `{minimize: METRIC}`.",
       KeyRule::kRequired},
      {"constraints", &Sections::constraints, as_it_stands(objective::constraints_format(metrics, true)),
       "Bounds that every architecture must keep: a list of `{METRIC: [low, high]}`, both included."},
      {"costs", &Sections::costs, if_given(section(CostsOptions::table())),
       "A program of your own that counts metrics of an architecture before anything is trained (metrics.md)."},
      {"search", &Sections::search, search_section(), "Which architectures are tried.", KeyRule::kRequired},
      {"final", &Sections::final_training, final_section(),
       "Full training of the front after the search, and its accuracy on the test set; `none` unless given.",
       KeyRule::kMayChange},
      {"run", &Sections::run, "The run: its seed, its pace, and what it keeps."},
      {"checkpoint", &Sections::checkpoint, or_keyword("none", section(checkpoint_table())),
       "Saved states of half-trained trials; `none`: nothing is saved before a trial is done, not even at "
       "a stop.",
       KeyRule::kMayChange}};
  for (const Key<Sections>& key : others) {
    if (evaluate::find_evaluator(key.name) != nullptr) {
      throw InternalError("an evaluator is called `" + key.name + "`, and there is a section of that name");
    }
    table.add(key);
  }
  return table;
}

ConfigNode config_schema() {
  ConfigNode schema = load_yaml_text(
      "{$schema: 'https://json-schema.org/draft/2020-12/schema', title: Configuration of a Skyline run}",
      "schema");
  const ConfigNode sections = all_sections().schema();
  for (const ConfigNode::Entry& entry : sections.entries()) schema.set(entry.key, entry.value);
  std::vector<ConfigNode> evaluators;
  std::vector<ConfigNode> declaring;  // evaluators whose metrics only the configuration declares
  for (const std::string& name : evaluate::evaluator_names()) {
    const auto required = ConfigNode::make_list({schema_text(name)}, {});
    evaluators.push_back(ConfigNode::make_map({{"required", required, {}}}, {}));
    if (declares_metrics(*evaluate::find_evaluator(name))) declaring.push_back(evaluators.back());
  }
  schema.set("oneOf", ConfigNode::make_list(std::move(evaluators), {}));
  const std::vector<std::string> metrics = measured_metrics();
  schema.set("if.anyOf", ConfigNode::make_list(std::move(declaring), {}));
  schema.set("else.properties.objectives", objective::objectives_format(metrics, false).schema);
  schema.set("else.properties.constraints", objective::constraints_format(metrics, false).schema);
  return schema;
}

std::string configuration_page() {
  std::string page(kIntroduction);
  const OptionTable<ConfigSections> sections = all_sections();
  for (const OptionKey& section : sections.keys()) {
    page += "\n## " + section.name + "\n\n" + section.meaning + section_hints(section) + "\n";
    for (const SubSection& inside : section.value.sections) {
      if (!inside.name.empty()) {
        page += "\n### " + section.name + ": `" + inside.name + "`\n\n" +
                search::find_algorithm(inside.name)->meaning + "\n";
      }
      page += table(inside.keys->rows(section.name, section.rule == KeyRule::kMayChange));
    }
  }
  return page + table_of_foreign_words();
}

}  // namespace skyline::app

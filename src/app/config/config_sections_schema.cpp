#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"

#include "app/config/config_sections.hpp"
#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace skyline::app {
namespace {

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

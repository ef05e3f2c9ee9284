#include "skyline/core/option_table.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_errors.hpp"
#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>

namespace skyline {
namespace {

ConfigNode object_schema(ConfigNode properties, std::vector<ConfigNode> required) {
  ConfigNode schema = ConfigNode::make_map({}, {});
  // A section without anything below it is null in YAML.
  const bool may_be_null = required.empty();
  schema.set("type", may_be_null ? ConfigNode::make_list({schema_text("object"), schema_text("null")}, {})
                                 : schema_text("object"));
  schema.set("properties", std::move(properties));
  if (!may_be_null) schema.set("required", ConfigNode::make_list(std::move(required), {}));
  schema.set("additionalProperties", ConfigNode::make_scalar("false", {}));
  return schema;
}

/// Refuses a key that the table does not have.
/// @param beside  the tag of the section's variant, if it has one
/// @param way_out  ends the message
[[noreturn]] void refuse(const ConfigNode& section, const ConfigNode::Entry& entry,
                         const std::vector<std::string>& known, const std::string& beside = "",
                         const std::string& way_out = "") {
  key_node(section, entry)
      .fail("unknown key " + in_quotes(entry.key) + (beside.empty() ? "" : " beside " + beside) + ", " +
            suggestion(entry.key, known) + way_out);
}

/// Returns how `--set` replaces a section; an empty text unless it chose only the section's variant, beside
/// which the keys of another one remain.
/// @param known  names of the variant's keys, that of its tag first
std::string way_out(const ConfigNode& section, const std::vector<std::string>& known) {
  constexpr std::string_view kSet = "--set ";
  const ConfigNode* const tag = section.find(known.front());
  if (tag == nullptr || tag->position().file != std::string(kSet) + tag->path()) return {};
  std::string kept = known.front() + ": " + tag->as_text();
  for (const ConfigNode::Entry& entry : section.entries()) {
    const bool is_known = std::ranges::find(known, entry.key) != known.end();
    if (is_known && &entry.value != tag && entry.value.is_scalar())
      kept += ", " + entry.key + ": " + entry.value.as_text();
  }
  return "; to replace the whole section: " + std::string(kSet) + "\"" + section.path() + "={" + kept + "}\"";
}

}  // namespace

std::vector<std::string> KeyTable::names() const {
  std::vector<std::string> names;
  for (const OptionKey& key : keys_) names.push_back(key.name);
  return names;
}

const OptionKey* KeyTable::find(std::string_view name) const {
  const auto key = std::ranges::find(keys_, name, &OptionKey::name);
  return key == keys_.end() ? nullptr : &*key;
}

void KeyTable::read(const ConfigNode& section, void* options) const {
  Mistakes mistakes;
  bool misspelt = false;  // A key that seems to be missing may have been written under another name.
  const std::vector<ConfigNode::Entry> none;
  for (const ConfigNode::Entry& entry : section.is_null() ? none : section.entries()) {
    const OptionKey* key = find(entry.key);
    const bool is_first = key == nullptr && !misspelt;
    const std::string end = is_first && !variant_.empty() ? way_out(section, names()) : "";
    misspelt = misspelt || key == nullptr;
    mistakes.attempt([&] {
      if (key == nullptr) refuse(section, entry, names(), variant_, end);
      if (section.find(entry.key) != &entry.value) {
        key_node(section, entry).fail("key " + in_quotes(entry.key) + " is given twice");
      }
      key->read(entry.value, options);
    });
  }
  for (const OptionKey& key : keys_) {
    const bool missing = section.is_null() || section.find(key.name) == nullptr;
    if (!missing || misspelt || key.rule != KeyRule::kRequired) continue;
    mistakes.attempt([&] { section.fail("missing key `" + key.name + "`"); });
  }
  mistakes.throw_if_any();
}

ConfigNode KeyTable::write(const void* options) const {
  std::vector<ConfigNode::Entry> entries;
  for (const OptionKey& key : keys_) {
    ConfigNode value = key.write(options);
    if (!value.is_null()) entries.push_back({key.name, std::move(value), {}});
  }
  return ConfigNode::make_map(std::move(entries), {});
}

void KeyTable::append(OptionKey key, const void* defaults) {
  require(find(key.name) == nullptr, "a section with two keys of one name");
  ConfigNode fallback = key.write(defaults);
  if (!fallback.is_null()) defaults_.set(key.name, std::move(fallback));
  keys_.push_back(std::move(key));
}

void KeyTable::put_tag(std::string_view name, const std::string& word, std::string_view meaning) {
  const ConfigNode constant = ConfigNode::make_scalar(word, {});
  const auto known = ConfigNode::make_map({{"const", schema_text(word), {}}}, {});
  OptionKey tag{std::string(name), std::string(meaning), {}, {"`" + word + "`", known}};
  tag.read = [](const ConfigNode&, void*) {};  // the tag was read when the variant was chosen
  tag.write = [constant](const void*) { return constant; };
  variant_ = "`" + tag.name + ": " + word + "`";
  keys_.insert(keys_.begin(), std::move(tag));
}

void KeyTable::put_advice(std::string_view name, std::string_view advice) {
  const auto key = std::ranges::find(keys_, name, &OptionKey::name);
  require(key != keys_.end(), "advice on a key that a section does not have");
  key->advice = advice;
}

ConfigNode KeyTable::identity(const ConfigNode& section) const {
  if (!section.is_map()) return section;
  std::vector<ConfigNode::Entry> entries;
  for (const ConfigNode::Entry& entry : section.entries()) {
    const OptionKey* key = find(entry.key);
    if (key != nullptr && key->rule == KeyRule::kMayChange) continue;
    const bool has_parts = key != nullptr && key->value.identity;
    entries.push_back({entry.key, has_parts ? key->value.identity(entry.value) : entry.value, {}});
  }
  ConfigNode identity = ConfigNode::make_map(std::move(entries), {});
  identity.assign_paths(section.path());
  return identity;
}

ConfigNode KeyTable::schema() const {
  ConfigNode properties = ConfigNode::make_map({}, {});
  std::vector<ConfigNode> required;
  for (const OptionKey& key : keys_) {
    ConfigNode value = key.value.schema;
    if (!key.meaning.empty()) value.set("description", schema_text(key.meaning));
    const ConfigNode* fallback = defaults_.find(key.name);
    if (key.rule == KeyRule::kRequired) {
      required.push_back(schema_text(key.name));
    } else if (fallback != nullptr && fallback->is_scalar()) {
      value.set("default", *fallback);
    }
    properties.set(key.name, std::move(value));
  }
  return object_schema(std::move(properties), std::move(required));
}

std::vector<KeyRow> KeyTable::rows(const std::string& path, bool may_change) const {
  std::vector<KeyRow> rows;
  for (const OptionKey& key : keys_) {
    KeyRow row{path + "." + key.name,
               key.value.expected,
               "",
               key.meaning,
               key.rule == KeyRule::kRequired,
               may_change || key.rule == KeyRule::kMayChange,
               key.advice};
    const ConfigNode* fallback = defaults_.find(key.name);
    if (fallback != nullptr && fallback->is_scalar() && !row.required) row.fallback = fallback->as_text();
    rows.push_back(row);
    for (const SubSection& inside : key.value.sections) {
      const std::string own_path = row.path + (inside.name.empty() ? "" : "." + inside.name);
      std::ranges::copy(inside.keys->rows(own_path, row.may_change), std::back_inserter(rows));
    }
  }
  return rows;
}

std::string section_text(const KeyTable& table) {
  return "a section with the keys " + joined(table.names());
}

OptionKind<std::size_t> variant_index(const std::vector<SubSection>& variants) {
  std::vector<std::string> words;
  std::vector<ConfigNode> schemas;
  for (const SubSection& variant : variants) words.push_back(variant.name);
  OptionKind<std::size_t> kind = word_index(words);
  schemas.push_back(kind.schema);
  for (const SubSection& variant : variants) {
    const auto properties = ConfigNode::make_map({{variant.name, variant.keys->schema(), {}}}, {});
    schemas.push_back(object_schema(properties, {schema_text(variant.name)}));
  }
  kind.schema = ConfigNode::make_map({{"anyOf", ConfigNode::make_list(std::move(schemas), {}), {}}}, {});
  kind.expected += ", with or without keys below it";
  kind.read = [read_word = kind.read, words](const ConfigNode& node, std::size_t& value) {
    if (!node.is_map()) return read_word(node, value);
    if (node.entries().size() != 1) return false;
    const ConfigNode::Entry& entry = node.entries().front();
    if (read_word(ConfigNode::make_scalar(entry.key, {}), value)) return true;
    refuse(node, entry, words);
  };
  return kind;
}

}  // namespace skyline

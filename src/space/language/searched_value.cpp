#include "space/language/searched_value.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <utility>

namespace skyline::space {
namespace {

bool is_word(const std::string& text, const Parameter& parameter) {
  return std::ranges::any_of(parameter.values, [&](const Value& value) { return to_text(value) == text; });
}

/// Returns the node with another position, for itself and all below it.
ConfigNode placed(const ConfigNode& node, const SourcePosition& position) {
  if (node.is_scalar()) return ConfigNode::make_scalar(node.as_text(), position, node.quoted());
  if (node.is_null()) return ConfigNode::make_null(position);
  std::vector<ConfigNode::Entry> entries;
  for (const ConfigNode::Entry& entry : node.entries()) {
    entries.push_back({entry.key, placed(entry.value, position), position});
  }
  return ConfigNode::make_map(std::move(entries), position);
}

}  // namespace

bool SearchedValue::is_section(const ConfigNode& node) {
  return node.is_map() && node.entries().size() == 1 && node.entries().front().key.starts_with('$');
}

SearchedValue::SearchedValue(const ConfigNode& node, const std::vector<Parameter>& parameters,
                             const std::function<Expression(const ConfigNode& scalar)>& read)
    : source_(node), is_section_(is_section(node)) {
  if (node.is_list()) node.fail("no parameter of the space can give a value of a list");
  if (node.is_scalar()) expression_ = read(node);
  if (!node.is_map()) return;
  const auto add = [&](const std::string& key, const ConfigNode& value) {
    entries_.push_back({key, SearchedValue(value, parameters, read)});
  };
  if (!is_section_) {
    for (const ConfigNode::Entry& entry : node.entries()) add(entry.key, entry.value);
    return;
  }
  const auto& [name, keys, position] = node.entries().front();
  ConfigNode word = ConfigNode::make_scalar(name, position);
  word.assign_paths(node.path());
  expression_ = read(word);
  if (expression_->root()->operation != Operation::kParameter) {
    word.fail("expected the name of a parameter, for example $optimizer");
  }
  const Parameter& parameter = parameters[expression_->root()->parameter];
  const auto chooses = [&](const ConfigNode::Entry& entry) { return is_word(entry.key, parameter); };
  is_by_word_ = keys.is_map() && std::ranges::any_of(keys.entries(), chooses);
  if (!is_by_word_) {
    add("", keys);
    return;
  }
  for (const ConfigNode::Entry& entry : keys.entries()) {
    if (chooses(entry)) {
      add(entry.key, entry.value);
      continue;
    }
    entry.value.fail(in_quotes(name) + " is never " + shortened(entry.key) +
                     "; keys for all words stand alone, or in each word's section");
  }
}

std::string SearchedValue::text(const Bindings& bindings) const {
  if (is_section_) {
    const std::string word = to_text(expression_->evaluate(bindings));
    for (const Entry& entry : entries_) {
      if (!is_by_word_ || entry.key == word) return "{" + word + ": " + entry.value.text(bindings) + "}";
    }
    return "{" + word + ": {}}";
  }
  if (expression_) {
    const Value value = expression_->evaluate(bindings);
    const bool is_quoted = std::holds_alternative<std::string>(value) && source_.quoted();
    return is_quoted ? '"' + to_text(value) + '"' : to_text(value);
  }
  std::string text;
  for (const Entry& entry : entries_) {
    text += (text.empty() ? "" : ", ") + entry.key + ": " + entry.value.text(bindings);
  }
  return "{" + text + "}";
}

Value SearchedValue::evaluate(const Bindings& bindings) const {
  return is_section_ ? Value(text(bindings)) : expression_->evaluate(bindings);
}

std::vector<std::size_t> SearchedValue::parameters() const {
  std::vector<std::size_t> named;
  if (expression_) named = expression_->parameters();
  for (const Entry& entry : entries_) {
    const std::vector<std::size_t> inner = entry.value.parameters();
    named.insert(named.end(), inner.begin(), inner.end());
  }
  std::ranges::sort(named);
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return named;
}

bool SearchedValue::names_classes() const {
  return (expression_ && reads_classes(*expression_->root())) ||
         std::ranges::any_of(entries_, [](const Entry& entry) { return entry.value.names_classes(); });
}

ConfigNode node_of(const Value& value, const SourcePosition& position) {
  if (std::holds_alternative<Null>(value)) return ConfigNode::make_null(position);
  const std::string text = to_text(value);
  if (!text.starts_with('{')) return ConfigNode::make_scalar(text, position);
  return placed(load_yaml_text(text, "a section"), position);
}

}  // namespace skyline::space

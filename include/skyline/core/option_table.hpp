#pragma once

#include "skyline/core/option_kind.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace skyline {

enum class KeyRule {
  kPartOfRun,  // another value makes another run, which `--resume` refuses
  kMayChange,  // only limits a run, or says which files are kept
  kRequired,   // the key is part of the run, and has no default
};

/// One key of a section. `read` and `write` take the address of the section's options, whatever their type.
struct OptionKey {
  std::string name;
  std::string meaning;  // one sentence for the docs
  KeyRule rule = KeyRule::kPartOfRun;
  ValueDescription value;
  std::function<void(const ConfigNode& node, void* options)> read = {};
  std::function<ConfigNode(const void* options)> write = {};
  std::string advice = {};  // when to change the key, and what that costs; empty if the meaning says enough
};

/// A line of docs/configuration.md.
struct KeyRow {
  std::string path;  // dotted path from the table's section on
  std::string expected;
  std::string fallback;  // the default; empty for sections and keys without one
  std::string meaning;
  bool required = false;
  bool may_change = false;  // true if this key or the section around it may change at a resume
  std::string advice = {};
};

/// The keys of a section: the one place that knows them. Parser, refusals, the complete configuration, the
/// identity of a run, the JSON schema and docs/configuration.md are all made from it. Immutable.
class KeyTable {
 public:
  virtual ~KeyTable() = default;
  /// Returns the section with every default filled in. complete(complete(section)) equals complete(section).
  /// @throws UserError with file, line and key
  virtual ConfigNode complete(const ConfigNode& section) const = 0;
  /// Returns the part of a complete section that makes a run, without the keys that may change.
  ConfigNode identity(const ConfigNode& section) const;
  /// Returns the JSON schema (draft 2020-12) of the section.
  ConfigNode schema() const;
  /// Lists all keys; keys of inner sections follow the key of their section.
  /// @param path  path of this section
  std::vector<KeyRow> rows(const std::string& path, bool may_change = false) const;
  /// Returns the keys in the order of their addition.
  const std::vector<OptionKey>& keys() const { return keys_; }
  std::vector<std::string> names() const;

 protected:
  KeyTable() = default;
  KeyTable(const KeyTable&) = default;
  KeyTable& operator=(const KeyTable&) = default;
  /// Sets the options from a section. A missing or empty (null) section changes nothing.
  void read(const ConfigNode& section, void* options) const;
  /// Writes options as a section, with every key that has a value.
  ConfigNode write(const void* options) const;
  /// Adds a key. The table takes the key's default from `defaults`.
  void append(OptionKey key, const void* defaults);
  /// Adds a first key whose value is always this word. It tells this variant of a section from the others.
  void put_tag(std::string_view name, const std::string& word, std::string_view meaning);
  /// Sets the advice of a key. @pre there is a key of this name
  void put_advice(std::string_view name, std::string_view advice);

 private:
  const OptionKey* find(std::string_view name) const;

  std::vector<OptionKey> keys_;
  ConfigNode defaults_ = ConfigNode::make_map({}, {});
  std::string variant_;  // e.g. "`algorithm: random`"; empty if there is no tag
};

/// Returns the kind of a member whose type is enough to know it: a flag, or a section that has its own table.
template <typename M>
OptionKind<M> kind_of_type();

/// One line of a table, for a member of T or of a base of it. The default is the value of a
/// default-constructed T.
template <typename T>
struct Key : OptionKey {
  template <typename M, typename Base>
  Key(std::string_view key, M Base::*member, const OptionKind<M>& kind, std::string_view sentence,
      KeyRule key_rule = KeyRule::kPartOfRun)
      : OptionKey{std::string(key), std::string(sentence), key_rule, kind} {
    read = [member, kind](const ConfigNode& node, void* options) {
      if (!kind.read(node, static_cast<T*>(options)->*member)) node.fail_expected(kind.expected);
    };
    write = [member, kind](const void* options) {
      return kind.write(static_cast<const T*>(options)->*member);
    };
  }
  /// Makes a key that sets several members.
  Key(std::string_view key, const OptionKind<T>& kind, std::string_view sentence,
      KeyRule key_rule = KeyRule::kPartOfRun)
      : OptionKey{std::string(key), std::string(sentence), key_rule, kind} {
    read = [kind](const ConfigNode& node, void* options) {
      if (!kind.read(node, *static_cast<T*>(options))) node.fail_expected(kind.expected);
    };
    write = [kind](const void* options) { return kind.write(*static_cast<const T*>(options)); };
  }
  template <typename M, typename Base>
  Key(std::string_view key, M Base::*member, const Range& range, std::string_view sentence,
      KeyRule key_rule = KeyRule::kPartOfRun)
      : Key(key, member, number_of_type<M>(range), sentence, key_rule) {}
  template <typename M, typename Base>
  Key(std::string_view key, M Base::*member, std::string_view sentence,
      KeyRule key_rule = KeyRule::kPartOfRun)
      : Key(key, member, kind_of_type<M>(), sentence, key_rule) {}

 private:
  template <typename M>
  static OptionKind<M> number_of_type(const Range& range) {
    if constexpr (std::is_same_v<M, double>) {
      return number(range);
    } else {
      return integer<M>(range);
    }
  }
};

/// The keys of a section that is read into a T. If sections hold a T inside, T names its table:
///   static const OptionTable<T>& table();
template <typename T>
class OptionTable final : public KeyTable {
 public:
  /// Checks rules between keys. @throws UserError
  using Check = void (*)(const T& options, const ConfigNode& section);

  OptionTable(std::initializer_list<Key<T>> keys, Check check = nullptr) : check_(check) {
    for (const Key<T>& key : keys) add(key);
  }
  /// Adds a key. @throws InternalError if there is a key of this name
  void add(const Key<T>& key) {
    const T defaults{};
    append(key, &defaults);
  }
  /// Returns a copy of this table as the variant of a section that `key: word` selects.
  OptionTable tagged(std::string_view key, const std::string& word, std::string_view meaning) const {
    OptionTable copy = *this;
    copy.put_tag(key, word, meaning);
    return copy;
  }

  /// Returns a copy of this table with advice on a key.
  OptionTable advised(std::string_view key, std::string_view advice) const {
    OptionTable copy = *this;
    copy.put_advice(key, advice);
    return copy;
  }

  /// Reads a section into options that start with their defaults. @throws UserError with file, line and key
  T parse(const ConfigNode& section) const {
    T options{};
    read(section, &options);
    if (check_ != nullptr) check_(options, section);
    return options;
  }
  /// Writes options as a complete section; parse() reads it back.
  ConfigNode to_config(const T& options) const { return write(&options); }
  ConfigNode complete(const ConfigNode& section) const override { return to_config(parse(section)); }

 private:
  Check check_;
};

/// Describes a section for messages: "a section with the keys interval, overhead".
std::string section_text(const KeyTable& table);

/// A section inside another one.
template <typename T>
OptionKind<T> section(const OptionTable<T>& table) {
  OptionKind<T> kind{{section_text(table), table.schema()}};
  kind.read = [table](const ConfigNode& node, T& options) {
    if (!node.is_map() && !node.is_null()) return false;
    options = table.parse(node);
    return true;
  };
  kind.write = [table](const T& options) { return table.to_config(options); };
  kind.sections = {{"", std::make_shared<OptionTable<T>>(table)}};
  kind.identity = [table](const ConfigNode& written) { return table.identity(written); };
  return kind;
}

template <typename M>
OptionKind<M> kind_of_type() {
  if constexpr (std::is_same_v<M, bool>) {
    return flag();
  } else {
    return section(M::table());
  }
}

/// A variant of a section: its word, the value of the enumeration that selects it, and its keys.
template <typename T, typename E>
struct Variant {
  std::string word;
  E value;
  OptionTable<T> table;
};

/// Describes a section with variants: its JSON schema and its text.
OptionKind<std::size_t> variant_index(const std::vector<SubSection>& variants);

/// Reads one of several sections: `optimizer: {adam: {beta1: 0.8}}`, or just `optimizer: adam`.
template <typename T, typename E>
OptionKind<T> one_of(E T::*which, const std::vector<Variant<T, E>>& variants) {
  std::vector<SubSection> sections;
  for (const auto& variant : variants) {
    sections.push_back({variant.word, std::make_shared<OptionTable<T>>(variant.table)});
  }
  OptionKind<std::size_t> index = variant_index(sections);
  OptionKind<T> kind{index};
  kind.sections = sections;
  kind.read = [which, variants, read = index.read](const ConfigNode& node, T& options) {
    std::size_t place = 0;
    if (!read(node, place)) return false;
    options = variants[place].table.parse(node.is_map() ? node.entries().front().value : ConfigNode());
    options.*which = variants[place].value;
    return true;
  };
  kind.write = [which, variants](const T& options) {
    for (const auto& variant : variants) {
      if (variant.value != options.*which) continue;
      return ConfigNode::make_map({{variant.word, variant.table.to_config(options), {}}}, {});
    }
    return ConfigNode();
  };
  return kind;
}

}  // namespace skyline

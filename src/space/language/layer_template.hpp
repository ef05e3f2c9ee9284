#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/layer_kind.hpp"

#include "space/expressions/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// The place of a node, for messages, without its content.
ConfigNode place_of(const ConfigNode& node);

/// A layer as the user wrote it: its kind, and its attributes as expressions.
class LayerTemplate {
 public:
  struct Attribute {
    std::string name;
    Expression expression;
  };

  /// @param attributes  a map, or null if there are none
  /// @param item        the node that names the layer
  /// @throws UserError for a misspelt attribute, or one that fits for no parameter value
  static LayerTemplate parse(const LayerKind& kind, const ConfigNode& attributes, const ConfigNode& item,
                             Names& names, std::int64_t classes);

  /// Makes a layer of a kind that this program does not have, with any attributes. It is never built.
  static LayerTemplate of_missing_kind(const ConfigNode& attributes, const ConfigNode& item, Names& names);

  /// Makes a layer that the language adds by itself. Attributes that are not given have their defaults.
  /// @param source  the place that errors name
  static LayerTemplate fixed(const LayerKind& kind, const ConfigNode& source, const Attributes& attributes);

  const LayerKind& kind() const { return *kind_; }
  const ConfigNode& source() const { return source_; }
  const Attribute* find(std::string_view name) const;
  /// Returns the number of steps that evaluating all attributes takes.
  std::size_t size() const { return size_; }

 private:
  void check_names(const ConfigNode& attributes) const;
  void read_attributes(const ConfigNode& attributes, Names& names);
  void check_attributes(Names& names, std::int64_t classes) const;

  const LayerKind* kind_ = nullptr;
  ConfigNode source_;
  std::vector<Attribute> attributes_;
  std::size_t size_ = 1;
};

/// Reads a template's attributes for one genotype.
class TemplateReader final : public AttributeReader {
 public:
  /// Messages start with `layer_name`, e.g. "conv2d_3". All three arguments must outlive the reader.
  TemplateReader(const LayerTemplate& layer, const Bindings& bindings, const std::string& layer_name)
      : layer_(layer), bindings_(bindings), layer_name_(layer_name) {}

  std::int64_t integer(std::string_view name, std::int64_t minimum, std::string_view meaning) override;
  std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback,
                          std::string_view meaning) override;
  std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                              std::string_view word, std::string_view meaning) override;
  Sides sides(std::string_view name, std::int64_t minimum, std::string_view meaning) override;
  Sides sides_or(std::string_view name, std::int64_t minimum, const Sides& fallback,
                 std::string_view meaning) override;
  std::optional<Sides> sides_or_word(std::string_view name, std::int64_t minimum, std::string_view word,
                                     std::string_view meaning) override;
  double number_or(std::string_view name, const Range& range, double fallback,
                   std::string_view meaning) override;
  bool flag_or(std::string_view name, bool fallback, std::string_view meaning) override;
  [[noreturn]] void fail(std::string_view message) override;
  [[noreturn]] void fail_at(std::string_view name, std::string_view message) override;

 private:
  /// Returns an attribute that must be given. @throws UserError
  const LayerTemplate::Attribute& required(std::string_view name);
  [[noreturn]] void fail_expected(const LayerTemplate::Attribute& attribute, const std::string& expected,
                                  const Value& value);

  const LayerTemplate& layer_;
  const Bindings& bindings_;
  const std::string& layer_name_;
};

}  // namespace skyline::space

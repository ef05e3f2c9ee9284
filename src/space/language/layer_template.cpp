#include "space/language/layer_template.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "space/expressions/combinations.hpp"
#include "space/language/space_keys.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace skyline::space {
namespace {

constexpr std::int64_t kLargestAttribute = 1 << 20;

/// Replaces a kind that this program does not have.
class MissingKind final : public LayerKind {
 public:
  std::string_view name() const override { return "missing_kind"; }
  void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  void infer(Layer& /*layer*/, AttributeReader& reader) const override {
    reader.fail("is of a kind that this program does not have");
  }
};

std::optional<std::int64_t> as_whole(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* number = std::get_if<double>(&value);  // an expression like `$width * 0.5` may be whole
  if (number == nullptr || std::trunc(*number) != *number || std::abs(*number) > kLargestAttribute) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

}  // namespace

ConfigNode place_of(const ConfigNode& node) {
  ConfigNode place = ConfigNode::make_null(node.position());
  place.assign_paths(node.path());
  return place;
}

LayerTemplate LayerTemplate::parse(const LayerKind& kind, const ConfigNode& attributes,
                                   const ConfigNode& item, Names& names, std::int64_t classes) {
  if (!attributes.is_map() && !attributes.is_null()) attributes.fail_expected("a map of attributes");
  LayerTemplate layer;
  layer.kind_ = &kind;
  layer.source_ = place_of(attributes.is_null() ? item : attributes);
  if (attributes.is_map()) {
    layer.check_names(attributes);
    layer.read_attributes(attributes, names);
  }
  layer.check_attributes(names, classes);
  return layer;
}

LayerTemplate LayerTemplate::of_missing_kind(const ConfigNode& attributes, const ConfigNode& item,
                                             Names& names) {
  static const MissingKind kind;
  LayerTemplate layer;
  layer.kind_ = &kind;
  layer.source_ = place_of(attributes.is_null() ? item : attributes);
  if (attributes.is_map()) layer.read_attributes(attributes, names);
  return layer;
}

LayerTemplate LayerTemplate::fixed(const LayerKind& kind, const ConfigNode& source,
                                   const Attributes& attributes) {
  LayerTemplate layer;
  layer.kind_ = &kind;
  layer.source_ = place_of(source);
  for (const auto& [name, value] : attributes) {
    layer.attributes_.push_back({name, Expression(constant_part(value), layer.source_)});
  }
  return layer;
}

void LayerTemplate::check_names(const ConfigNode& attributes) const {
  std::vector<std::string> known;
  for (const LayerAttribute& attribute : attributes_of(*kind_)) known.push_back(attribute.name);
  for (const ConfigNode::Entry& entry : attributes.entries()) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      const ConfigNode key = key_node(attributes, entry);
      if (is_key_beside(entry.key)) key.fail("`" + entry.key + "` belongs beside a layer, not in it");
      key.fail(std::string(kind_->name()) + " has no attribute " + in_quotes(entry.key) + ", " +
               suggestion(entry.key, known));
    }
  }
}

void LayerTemplate::read_attributes(const ConfigNode& attributes, Names& names) {
  for (const ConfigNode::Entry& entry : attributes.entries()) {
    if (find(entry.key) != nullptr) entry.value.fail("the attribute is given twice");
    attributes_.push_back({entry.key, Expression::parse(entry.value, names)});
    size_ += attributes_.back().expression.root()->size;
  }
}

// Attributes that fit for some values of the layer's parameters are accepted here and checked per genotype.
void LayerTemplate::check_attributes(Names& names, std::int64_t classes) const {
  constexpr int kMostCombinations = 1000;
  constexpr std::size_t kSteps = 100;  // steps per combination
  const std::vector<Parameter>& parameters = names.parameters();
  std::vector<std::size_t> named;
  for (const Attribute& attribute : attributes_) {
    const auto& indices = attribute.expression.parameters();
    named.insert(named.end(), indices.begin(), indices.end());
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  Combinations combinations(parameters, std::move(named));
  std::vector<bool> used(parameters.size());
  std::optional<UserError> first_problem;
  for (int i = 0; i < kMostCombinations; ++i) {
    names.count_steps(kSteps);
    try {
      Layer layer;
      layer.name = kind_->name();
      const Bindings bindings{parameters, combinations.current(), classes, used};
      TemplateReader reader(*this, bindings, layer.name);
      kind_->read_attributes(layer, reader);
      return;
    } catch (const UserError& problem) {
      if (!first_problem) first_problem = problem;
    }
    if (!combinations.advance()) throw *first_problem;
  }
}

const LayerTemplate::Attribute* LayerTemplate::find(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name, &Attribute::name);
  return found == attributes_.end() ? nullptr : &*found;
}

const LayerTemplate::Attribute& TemplateReader::required(std::string_view name) {
  const auto* attribute = layer_.find(name);
  if (attribute == nullptr) fail("missing attribute `" + std::string(name) + "`");
  return *attribute;
}

std::int64_t TemplateReader::integer(std::string_view name, std::int64_t minimum,
                                     std::string_view /*meaning*/) {
  const LayerTemplate::Attribute& attribute = required(name);
  const Value value = attribute.expression.evaluate(bindings_);
  const std::optional<std::int64_t> integer = as_whole(value);
  if (!integer || *integer < minimum) {
    fail_expected(attribute, "a whole number of at least " + std::to_string(minimum), value);
  }
  if (*integer > kLargestAttribute) {
    fail_expected(attribute, "a whole number of at most " + std::to_string(kLargestAttribute), value);
  }
  return *integer;
}

std::int64_t TemplateReader::integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback,
                                        std::string_view meaning) {
  return layer_.find(name) == nullptr ? fallback : integer(name, minimum, meaning);
}

std::optional<std::int64_t> TemplateReader::integer_or_word(std::string_view name, std::int64_t minimum,
                                                            std::string_view word, std::string_view meaning) {
  const auto* attribute = layer_.find(name);
  if (attribute == nullptr) return std::nullopt;
  const Value value = attribute->expression.evaluate(bindings_);
  if (is_number(value)) return integer(name, minimum, meaning);
  if (to_text(value) != word) fail_expected(*attribute, std::string(word) + " or a whole number", value);
  return std::nullopt;
}

Sides TemplateReader::sides(std::string_view name, std::int64_t minimum, std::string_view meaning) {
  const LayerTemplate::Attribute& attribute = required(name);
  const Value value = attribute.expression.evaluate(bindings_);
  const auto* sides = std::get_if<Sides>(&value);
  if (sides == nullptr) {
    const std::int64_t side = integer(name, minimum, meaning);
    return {side, side};
  }
  const auto [least, most] = std::minmax((*sides)[0], (*sides)[1]);
  if (least < minimum) {
    fail_expected(attribute, "whole numbers of at least " + std::to_string(minimum), value);
  }
  if (most > kLargestAttribute) {
    fail_expected(attribute, "whole numbers of at most " + std::to_string(kLargestAttribute), value);
  }
  return *sides;
}

Sides TemplateReader::sides_or(std::string_view name, std::int64_t minimum, const Sides& fallback,
                               std::string_view meaning) {
  return layer_.find(name) == nullptr ? fallback : sides(name, minimum, meaning);
}

std::optional<Sides> TemplateReader::sides_or_word(std::string_view name, std::int64_t minimum,
                                                   std::string_view word, std::string_view meaning) {
  const auto* attribute = layer_.find(name);
  const bool are_sides =
      attribute != nullptr && std::holds_alternative<Sides>(attribute->expression.evaluate(bindings_));
  if (are_sides) return sides(name, minimum, meaning);
  const std::optional<std::int64_t> side = integer_or_word(name, minimum, word, meaning);
  return side ? std::optional(Sides{*side, *side}) : std::nullopt;
}

double TemplateReader::number_or(std::string_view name, const Range& range, double fallback,
                                 std::string_view /*meaning*/) {
  const auto* attribute = layer_.find(name);
  if (attribute == nullptr) return fallback;
  const Value value = attribute->expression.evaluate(bindings_);
  if (!is_number(value) || !range.holds(as_number(value))) {
    fail_expected(*attribute, number(range).expected, value);
  }
  return as_number(value);
}

bool TemplateReader::flag_or(std::string_view name, bool fallback, std::string_view /*meaning*/) {
  const auto* attribute = layer_.find(name);
  if (attribute == nullptr) return fallback;
  const Value value = attribute->expression.evaluate(bindings_);
  if (!std::holds_alternative<bool>(value)) fail_expected(*attribute, "true or false", value);
  return std::get<bool>(value);
}

void TemplateReader::fail(std::string_view message) {
  layer_.source().fail("layer " + layer_name_ + ": " + std::string(message));
}

void TemplateReader::fail_at(std::string_view name, std::string_view message) {
  const auto* attribute = layer_.find(name);
  const ConfigNode& place = attribute == nullptr ? layer_.source() : attribute->expression.source();
  place.fail("layer " + layer_name_ + ": " + std::string(message));
}

void TemplateReader::fail_expected(const LayerTemplate::Attribute& attribute, const std::string& expected,
                                   const Value& value) {
  fail_at(attribute.name, "expected " + expected + ", got " + attribute.expression.describe(value));
}

}  // namespace skyline::space

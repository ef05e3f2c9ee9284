#include "space/language/layer_template.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace skyline::space {
namespace {

constexpr std::int64_t kLargestAttribute = 1 << 20;

/// Goes through all assignments of a few parameters; the other parameters keep their first value.
class Combinations {
 public:
  Combinations(const std::vector<Parameter>& parameters, std::vector<std::size_t> varied)
      : parameters_(parameters), varied_(std::move(varied)) {
    genotype_.choices.assign(parameters.size(), 0);
  }
  const Genotype& current() const { return genotype_; }
  bool advance() {
    for (const std::size_t index : varied_) {
      if (++genotype_.choices[index] < parameters_[index].values.size()) return true;
      genotype_.choices[index] = 0;
    }
    return false;
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::vector<std::size_t> varied_;
  Genotype genotype_;
};

std::optional<std::int64_t> as_whole(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* number = std::get_if<double>(&value);  // `$width * 0.5` may well be whole
  if (number == nullptr || std::trunc(*number) != *number || std::abs(*number) > kLargestAttribute) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

bool is_numeric(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

}  // namespace

LayerTemplate LayerTemplate::parse(const ConfigNode& item, const std::vector<Parameter>& parameters,
                                   std::int64_t classes) {
  LayerTemplate layer;
  layer.read_source(item);
  if (layer.source_.is_map()) layer.read_expressions(parameters);
  layer.check_attributes(parameters, classes);
  return layer;
}

void LayerTemplate::read_source(const ConfigNode& item) {
  std::string name;
  if (item.is_scalar()) {
    name = item.as_text();
    source_ = item;
  } else if (item.is_map() && item.entries().size() == 1) {
    name = item.entries().front().key;
    source_ = item.entries().front().value;
    if (!source_.is_map() && !source_.is_null()) source_.fail_expected("a map of attributes");
  } else {
    item.fail_expected("one layer, as in `relu` or `conv2d: {channels: 16, kernel: 3}`");
  }
  kind_ = find_layer_kind(name);
  if (kind_ == nullptr) item.fail("unknown layer `" + name + "`, " + suggestion(name, layer_kind_names()));
}

void LayerTemplate::read_expressions(const std::vector<Parameter>& parameters) {
  std::vector<std::string> known;
  for (const LayerAttribute& attribute : attributes_of(*kind_)) known.push_back(attribute.name);
  for (const ConfigNode::Entry& entry : source_.entries()) {
    if (find(entry.key) != nullptr) entry.value.fail("the attribute is given twice");
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      entry.value.fail(std::string(kind_->name()) + " has no attribute `" + entry.key + "`, " +
                       suggestion(entry.key, known));
    }
    attributes_.push_back({entry.key, Expression::parse(entry.value, parameters)});
  }
}

// Attributes that fit with some values of the layer's parameters are left for the genotypes to decide.
void LayerTemplate::check_attributes(const std::vector<Parameter>& parameters, std::int64_t classes) const {
  constexpr int kMostCombinations = 1000;
  Combinations combinations(parameters, parameter_indices());
  std::vector<bool> used(parameters.size());
  std::optional<UserError> first_problem;
  for (int i = 0; i < kMostCombinations; ++i) {
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

std::vector<std::size_t> LayerTemplate::parameter_indices() const {
  std::vector<std::size_t> indices;
  for (const Attribute& attribute : attributes_) {
    const auto& named = attribute.expression.parameters();
    indices.insert(indices.end(), named.begin(), named.end());
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

const LayerTemplate::Attribute* LayerTemplate::find(std::string_view name) const {
  const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                  [&](const Attribute& attribute) { return attribute.name == name; });
  return found == attributes_.end() ? nullptr : &*found;
}

std::int64_t TemplateReader::integer(std::string_view name, std::int64_t minimum,
                                     std::string_view /*meaning*/) {
  const auto* attribute = layer_.find(name);
  if (attribute == nullptr) fail("missing attribute `" + std::string(name) + "`");
  const Value value = attribute->expression.evaluate(bindings_);
  const std::optional<std::int64_t> integer = as_whole(value);
  if (!integer || *integer < minimum) {
    fail_expected(*attribute, "a whole number of at least " + std::to_string(minimum), value);
  }
  if (*integer > kLargestAttribute) {
    fail_expected(*attribute, "a whole number of at most " + std::to_string(kLargestAttribute), value);
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
  if (is_numeric(value)) return integer(name, minimum, meaning);
  if (to_text(value) != word) fail_expected(*attribute, std::string(word) + " or a whole number", value);
  return std::nullopt;
}

double TemplateReader::number_or(std::string_view name, const Range& range, double fallback,
                                 std::string_view /*meaning*/) {
  const auto* attribute = layer_.find(name);
  if (attribute == nullptr) return fallback;
  const Value value = attribute->expression.evaluate(bindings_);
  if (!is_numeric(value) || !range.holds(as_number(value))) {
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
  const std::string written = attribute.expression.source().describe();
  const std::string got = written == to_text(value) ? written : to_text(value) + " from `" + written + "`";
  fail_at(attribute.name, "expected " + expected + ", got " + got);
}

}  // namespace skyline::space

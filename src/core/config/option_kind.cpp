#include "skyline/core/option_kind.hpp"

#include "core/config/config_text.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace skyline {
namespace {

// Writes whole numbers with all their digits: 1000000 and not 1e+06.
ConfigNode bound_node(double bound) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::abs(bound) < kExactIntegers && bound == std::trunc(bound)) {
    return ConfigNode::make_integer(static_cast<std::int64_t>(bound));
  }
  return ConfigNode::make_number(bound);
}

/// Returns "from 1 to 5", "above 0 and at most 1", "of at least 0", or an empty text without bounds.
std::string bounds_text(const Range& range) {
  const bool low = std::isfinite(range.low);
  const bool high = std::isfinite(range.high);
  const std::string least = bound_node(range.low).as_text();
  const std::string most = bound_node(range.high).as_text();
  if (low && high && !range.above_low && !range.below_high) return " from " + least + " to " + most;
  std::string text;
  if (low) text = (range.above_low ? " above " : " of at least ") + least;
  if (high) text += (low ? " and" : "") + std::string(range.below_high ? " below " : " at most ") + most;
  return text;
}

ConfigNode number_schema(const std::string& type, const Range& range) {
  ConfigNode schema = ConfigNode::make_map({{"type", schema_text(type), {}}}, {});
  if (std::isfinite(range.low)) {
    schema.set(range.above_low ? "exclusiveMinimum" : "minimum", bound_node(range.low));
  }
  if (std::isfinite(range.high)) {
    schema.set(range.below_high ? "exclusiveMaximum" : "maximum", bound_node(range.high));
  }
  return schema;
}

bool is_plain(const ConfigNode& node) {
  return node.is_scalar() && !node.quoted();
}

}  // namespace

ConfigNode schema_text(const std::string& text) {
  return ConfigNode::make_scalar(text, {}, true);
}

bool Range::holds(double value) const {
  if (!std::isfinite(value)) return false;
  return (above_low ? value > low : value >= low) && (below_high ? value < high : value <= high);
}

OptionKind<double> number(const Range& range) {
  OptionKind<double> kind{{"a number" + bounds_text(range), number_schema("number", range)}};
  kind.read = [range](const ConfigNode& node, double& value) {
    const auto found = is_plain(node) ? parse_number(node.as_text()) : std::nullopt;
    value = found.value_or(0);
    return found && range.holds(value);
  };
  kind.write = ConfigNode::make_number;
  return kind;
}

template <std::integral M>
OptionKind<M> integer(Range range) {
  if (std::is_unsigned_v<M>) range.low = std::max(range.low, 0.0);
  if (sizeof(M) < sizeof(std::int64_t)) {
    range.high = std::min(range.high, static_cast<double>(std::numeric_limits<M>::max()));
  }
  OptionKind<M> kind{{"a whole number" + bounds_text(range), number_schema("integer", range)}};
  kind.read = [range](const ConfigNode& node, M& value) {
    const auto found = is_plain(node) ? parse_integer(node.as_text()) : std::nullopt;
    value = static_cast<M>(found.value_or(0));
    return found && range.holds(static_cast<double>(*found));
  };
  kind.write = [](const M& value) { return ConfigNode::make_integer(static_cast<std::int64_t>(value)); };
  return kind;
}

template OptionKind<int> integer(Range range);
template OptionKind<std::int64_t> integer(Range range);
template OptionKind<std::uint32_t> integer(Range range);
template OptionKind<std::uint64_t> integer(Range range);

OptionKind<bool> flag() {
  OptionKind<bool> kind{{"true or false", ConfigNode::make_map({{"type", schema_text("boolean"), {}}}, {})}};
  kind.read = [](const ConfigNode& node, bool& value) {
    const auto found = is_plain(node) ? parse_bool(node.as_text()) : std::nullopt;
    value = found.value_or(false);
    return found.has_value();
  };
  kind.write = [](bool value) { return ConfigNode::make_scalar(value ? "true" : "false", {}); };
  return kind;
}

OptionKind<std::string> text(std::string expected) {
  ConfigNode schema = ConfigNode::make_map({{"type", schema_text("string"), {}}}, {});
  schema.set("minLength", ConfigNode::make_integer(1));
  OptionKind<std::string> kind{{std::move(expected), std::move(schema)}};
  kind.read = [](const ConfigNode& node, std::string& value) {
    if (!node.is_scalar()) return false;
    value = node.as_text();
    return !value.empty();
  };
  kind.write = [](const std::string& value) {
    return value.empty() ? ConfigNode() : ConfigNode::make_scalar(value, {});
  };
  return kind;
}

OptionKind<ConfigNode> tree(std::string expected, ConfigNode schema) {
  OptionKind<ConfigNode> kind{{std::move(expected), std::move(schema)}};
  kind.read = [](const ConfigNode& node, ConfigNode& value) {
    value = node;
    return true;
  };
  kind.write = [](const ConfigNode& value) { return value; };
  return kind;
}

OptionKind<double> duration(const Range& range) {
  const ConfigNode words = ConfigNode::make_map(
      {{"type", ConfigNode::make_list({schema_text("string"), schema_text("integer")}, {}), {}},
       {"pattern", schema_text("^([0-9.e+-]+ *(d|h|min|m|s|ms) *)+$"), {}},
       {"maximum", ConfigNode::make_integer(0), {}}},  // zero needs no unit
      {});
  const bool from_zero = range.low == 0 && !range.above_low;  // true of all durations
  std::string bounds =
      bounds_text(from_zero ? Range{.high = range.high, .below_high = range.below_high} : range);
  if (!bounds.empty() && !bounds.ends_with(" 0")) bounds += " s";
  OptionKind<double> kind{{"a duration" + bounds + ", e.g. 90 s, 15 min, 1h30m or 2 d", words}};
  kind.read = [range](const ConfigNode& node, double& value) {
    const auto found = node.is_scalar() ? parse_duration(node.as_text()) : std::nullopt;
    value = found.value_or(0);
    return found && range.holds(value);
  };
  kind.write = [](double value) {
    return ConfigNode::make_scalar(ConfigNode::make_number(value).as_text() + " s", {});
  };
  return kind;
}

OptionKind<std::size_t> word_index(const std::vector<std::string>& words) {
  std::vector<ConfigNode> known;
  std::string expected;
  for (const std::string& word : words) {
    known.push_back(schema_text(word));
    expected += (expected.empty() ? "`" : &word == &words.back() ? " or `" : ", `") + word + "`";
  }
  const auto schema = ConfigNode::make_map({{"enum", ConfigNode::make_list(std::move(known), {}), {}}}, {});
  OptionKind<std::size_t> kind{{expected, schema}};
  kind.read = [words](const ConfigNode& node, std::size_t& value) {
    if (!node.is_scalar()) return false;
    const auto found = std::find(words.begin(), words.end(), node.as_text());
    value = static_cast<std::size_t>(found - words.begin());
    return found != words.end();
  };
  kind.write = [words](std::size_t value) { return ConfigNode::make_scalar(words.at(value), {}); };
  return kind;
}

ConfigNode keyword_or(const std::string& word, const ConfigNode& schema) {
  const ConfigNode constant = ConfigNode::make_map({{"const", schema_text(word), {}}}, {});
  return ConfigNode::make_map({{"anyOf", ConfigNode::make_list({constant, schema}, {}), {}}}, {});
}

}  // namespace skyline

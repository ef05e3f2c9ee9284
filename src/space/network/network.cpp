#include "skyline/space/network.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>

namespace skyline::space {
namespace {

template <typename T>
T attribute(const Layer& layer, std::string_view name) {
  const T* value = std::get_if<T>(layer.attributes.find(name));
  if (value == nullptr) {
    throw InternalError("layer " + layer.name + " has no such attribute: " + std::string(name));
  }
  return *value;
}

void append_layer(std::string& text, const Layer& layer) {
  text += layer.kind;
  char separator = '(';
  for (const auto& [name, value] : layer.attributes) {
    text += separator;
    text += name;
    text += '=';
    text += to_text(value);
    separator = ',';
  }
  if (separator == ',') text += ')';
  text += " <-";
  if (layer.inputs.empty()) text += " input";
  for (const std::size_t input : layer.inputs) {
    text += ' ';
    text += std::to_string(input);
  }
  text += '\n';
}

}  // namespace

std::string to_text(const Shape& shape) {
  return std::to_string(shape.channels) + 'x' + std::to_string(shape.height) + 'x' +
         std::to_string(shape.width);
}

std::int64_t TensorSpec::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const auto& [name, value] : entries) (*this)[name] = value;
}

Value& Attributes::operator[](std::string_view name) {
  constexpr std::size_t kUsual = 8;  // most attributes of a built-in kind
  const auto place = std::ranges::lower_bound(entries_, name, {}, &Entry::first);
  if (place != entries_.end() && place->first == name) return place->second;
  const auto offset = place - entries_.begin();
  if (entries_.empty()) entries_.reserve(kUsual);
  return entries_.emplace(entries_.begin() + offset, name, Value{})->second;
}

const Value* Attributes::find(std::string_view name) const {
  const auto place = std::ranges::lower_bound(entries_, name, {}, &Entry::first);
  return place == entries_.end() || place->first != name ? nullptr : &place->second;
}

std::string Network::canonical_text() const {
  std::string text = "input " + to_text(input) + '\n';
  for (const Layer& layer : layers) append_layer(text, layer);
  return text;
}

std::int64_t attribute_integer(const Layer& layer, std::string_view name) {
  return attribute<std::int64_t>(layer, name);
}

std::int64_t attribute_integer_or(const Layer& layer, std::string_view name, std::int64_t fallback) {
  return layer.attributes.find(name) != nullptr ? attribute_integer(layer, name) : fallback;
}

Sides attribute_sides_or(const Layer& layer, std::string_view name, const Sides& fallback) {
  const Value* value = layer.attributes.find(name);
  if (value == nullptr) return fallback;
  if (const auto* sides = std::get_if<Sides>(value)) return *sides;
  const std::int64_t side = attribute_integer(layer, name);
  return {side, side};
}

double attribute_number(const Layer& layer, std::string_view name) {
  return attribute<double>(layer, name);
}

bool attribute_flag(const Layer& layer, std::string_view name) {
  return attribute<bool>(layer, name);
}

}  // namespace skyline::space

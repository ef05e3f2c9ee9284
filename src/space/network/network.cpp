#include "skyline/space/network.hpp"

#include "skyline/core/error.hpp"

namespace skyline::space {
namespace {

template <typename T>
T attribute(const Layer& layer, const std::string& name) {
  const auto entry = layer.attributes.find(name);
  const T* value = entry == layer.attributes.end() ? nullptr : std::get_if<T>(&entry->second);
  if (value == nullptr) throw InternalError("layer " + layer.name + " has no such attribute: " + name);
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

std::string Network::canonical_text() const {
  std::string text = "input " + to_text(input) + '\n';
  for (const Layer& layer : layers) append_layer(text, layer);
  return text;
}

std::int64_t attribute_integer(const Layer& layer, const std::string& name) {
  return attribute<std::int64_t>(layer, name);
}

std::int64_t attribute_integer_or(const Layer& layer, const std::string& name, std::int64_t fallback) {
  return layer.attributes.contains(name) ? attribute_integer(layer, name) : fallback;
}

double attribute_number(const Layer& layer, const std::string& name) {
  return attribute<double>(layer, name);
}

bool attribute_flag(const Layer& layer, const std::string& name) {
  return attribute<bool>(layer, name);
}

}  // namespace skyline::space

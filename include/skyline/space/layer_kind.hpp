#pragma once

#include "skyline/space/network.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// Reads the attributes of one layer from the configuration, with the genotype's values already in place.
/// Passed to LayerKind::read_attributes and infer; its errors name file, line and key.
class AttributeReader {
 public:
  virtual ~AttributeReader() = default;
  /// Integer attribute, at least `minimum`. @throws UserError if missing (without a default) or out of range
  virtual std::int64_t integer(std::string_view name, std::int64_t minimum) = 0;
  virtual std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback) = 0;
  virtual double number_or(std::string_view name, double fallback) = 0;
  virtual bool flag_or(std::string_view name, bool fallback) = 0;
  virtual std::string text_or(std::string_view name, std::string_view fallback) = 0;
  /// True if the attribute is a number here ("padding: 1") and not a word ("padding: same").
  virtual bool is_number(std::string_view name) = 0;
  /// @throws UserError with file, line, key path of the layer
  [[noreturn]] virtual void fail(std::string_view message) = 0;
  /// Like fail(), at one attribute of the layer; at the layer itself if that attribute is not given.
  [[noreturn]] virtual void fail_at(std::string_view name, std::string_view message) = 0;
};

/// A kind of layer as the space knows it: attributes, shapes, tensors, costs. Stateless. A new kind is one
/// class and one registration (`register_layer_kind`) here, and one op in the trainer (train/layer_op.hpp).
class LayerKind {
 public:
  virtual ~LayerKind() = default;
  virtual std::string_view name() const = 0;
  /// Names of the attributes that the kind accepts; others are refused with "did you mean".
  virtual std::vector<std::string> attribute_names() const = 0;
  /// Fills all of `layer.attributes`, independent of shapes. Separate from `infer`, so that a space is
  /// checked as far as possible before any network is built.
  /// @throws UserError through `reader` if an attribute is missing or does not fit
  virtual void read_attributes(Layer& layer, AttributeReader& reader) const = 0;
  /// Fills output, tensors, flops and macs of `layer`, whose kind, inputs, input shape and attributes are
  /// set.
  /// @throws UserError through `reader` if the shapes do not fit
  virtual void infer(Layer& layer, AttributeReader& reader) const = 0;
};

/// Adds a kind, before any space is parsed; a second one of the same name is an InternalError.
void register_layer_kind(std::unique_ptr<LayerKind> kind);
/// nullptr if unknown.
const LayerKind* find_layer_kind(std::string_view name);
std::vector<std::string> layer_kind_names();

}  // namespace skyline::space

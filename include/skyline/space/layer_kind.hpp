#pragma once

#include "skyline/core/option_kind.hpp"
#include "skyline/space/network.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// Reads the attributes of one layer from the configuration, with the genotype's values already in place.
/// Passed to LayerKind::read_attributes and infer; its errors name file, line and key. `meaning` is a
/// sentence for docs/configuration.md.
class AttributeReader {
 public:
  virtual ~AttributeReader() = default;
  /// Integer attribute, at least `minimum`. @throws UserError if missing (without a default) or out of range
  virtual std::int64_t integer(std::string_view name, std::int64_t minimum, std::string_view meaning) = 0;
  virtual std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback,
                                  std::string_view meaning) = 0;
  /// An integer ("padding: 1"), or nothing for the word ("padding: same"), also if neither is given.
  virtual std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                                      std::string_view word, std::string_view meaning) = 0;
  virtual double number_or(std::string_view name, const Range& range, double fallback,
                           std::string_view meaning) = 0;
  virtual bool flag_or(std::string_view name, bool fallback, std::string_view meaning) = 0;
  /// @throws UserError with file, line, key path of the layer
  [[noreturn]] virtual void fail(std::string_view message) = 0;
  /// Like fail(), at one attribute of the layer; at the layer itself if that attribute is not given.
  [[noreturn]] virtual void fail_at(std::string_view name, std::string_view message) = 0;
};

/// How the features (channels) of a layer's output follow from those of its inputs.
enum class Features {
  kNew,        // each is made of several by weights
  kKept,       // feature i is made of feature i of the inputs: activations, norms, pooling, sums
  kFlattened,  // a feature of the input at each of its places: channels, rows, columns
  kJoined,     // those of all inputs, one input after the other
};

/// How the distribution of an output feature follows from that of the same feature of the input.
enum class Distribution {
  kUnknown,
  kKept,        // about the same
  kRectified,   // of max(0, x)
  kNormalized,  // by the statistics of the batch, with the tensors and attributes of batch_norm
};

/// When the output of a layer is zero everywhere, whatever its tensors are.
enum class Zeros {
  kUnknown,
  kIfAll,  // if all inputs are: relu, a convolution without bias, concat
  kIfAny,  // if one of the inputs is: products
  kAlways,
};

/// What inheritance, groups, devices and the canonical form need to know of a layer, whatever its kind.
struct Traits {
  Features features = Features::kNew;
  Distribution distribution = Distribution::kUnknown;
  bool adds = false;             // the output is the sum of the inputs
  bool draws = false;            // it draws random numbers in training
  bool may_be_identity = false;  // `weight` and `bias` can make the first outputs the inputs, one by one
  bool is_identity = false;      // the output is the input
  Zeros zeros = Zeros::kUnknown;

  bool normalizes() const { return distribution == Distribution::kNormalized; }
};

/// A kind of layer as the space knows it: attributes, shapes, tensors, costs. Stateless. A new kind is one
/// class and one registration (`register_layer_kind`) here, and one op in the trainer (train/layer_op.hpp).
class LayerKind {
 public:
  virtual ~LayerKind() = default;
  virtual std::string_view name() const = 0;
  /// Fills all of `layer.attributes`, independent of shapes. Separate from `infer`, so that a space is
  /// checked as far as possible before any network is built. Asks for every attribute that the kind accepts,
  /// whatever the others are: this is also how the attributes are listed (attributes_of), from a reader that
  /// answers with the default, or else with the smallest value and in a second reading with two more. Other
  /// attributes are refused with "did you mean".
  /// @throws UserError through `reader` if an attribute is missing or does not fit
  virtual void read_attributes(Layer& layer, AttributeReader& reader) const = 0;
  /// Fills output, tensors, inner_elements, flops and macs of `layer`, whose kind, inputs, input shapes and
  /// attributes are set.
  /// @throws UserError through `reader` if the shapes do not fit
  virtual void infer(Layer& layer, AttributeReader& reader) const = 0;
  /// Whether a layer of this kind makes one output of several inputs.
  virtual bool merges() const { return false; }
  /// The traits of a complete layer of this kind. Without an override: features are kept where a layer has
  /// one input, the same shape before and behind, and no tensor of more than one dimension; and it may draw,
  /// so that no two layers are one.
  virtual Traits traits(const Layer& layer) const;
};

/// Adds a kind, before any space is parsed; a second one of the same name is an InternalError.
void register_layer_kind(std::unique_ptr<LayerKind> kind);
/// An attribute as the kind asks for it.
struct LayerAttribute {
  std::string name;
  std::string meaning;    // one sentence
  std::string expected;   // "a whole number of at least 1"
  ConfigNode schema;      // JSON schema of such a value; an expression may stand for it
  bool required = false;  // has no default
  ConfigNode fallback;    // the default; null if there is none or it follows from other attributes
};
/// The attributes that a kind accepts.
std::vector<LayerAttribute> attributes_of(const LayerKind& kind);

/// nullptr if unknown.
const LayerKind* find_layer_kind(std::string_view name);
std::vector<std::string> layer_kind_names();
/// The traits of a layer, by its kind. A kind that is not registered has those of one without an override.
Traits traits_of(const Layer& layer);

}  // namespace skyline::space

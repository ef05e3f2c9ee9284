#pragma once

#include "skyline/core/option_kind.hpp"
#include "skyline/space/int8_layer.hpp"
#include "skyline/space/network.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// Reads the attributes of one layer from the configuration, in which the genotype's values are already
/// filled in. It is passed to LayerKind::read_attributes and infer, and lives during that call. Its errors
/// name file, line and key. `meaning` is a sentence for docs/configuration.md.
class AttributeReader {
 public:
  virtual ~AttributeReader() = default;
  /// Reads an integer of at least `minimum`.
  /// @throws UserError if it is missing (and has no default) or out of range
  virtual std::int64_t integer(std::string_view name, std::int64_t minimum, std::string_view meaning) = 0;
  /// Reads an integer of at least `minimum`; `fallback` if it is not given. @throws UserError if out of range
  virtual std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback,
                                  std::string_view meaning) = 0;
  /// Reads an integer ("padding: 1"). Returns nullopt for the word ("padding: same"), or if neither is given.
  virtual std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                                      std::string_view word, std::string_view meaning) = 0;
  /// Read two integers of at least `minimum` ("kernel: [10, 4]"), or one that stands for both, as those of
  /// one integer do.
  virtual Sides sides(std::string_view name, std::int64_t minimum, std::string_view meaning) = 0;
  virtual Sides sides_or(std::string_view name, std::int64_t minimum, const Sides& fallback,
                         std::string_view meaning) = 0;
  virtual std::optional<Sides> sides_or_word(std::string_view name, std::int64_t minimum,
                                             std::string_view word, std::string_view meaning) = 0;
  /// Reads a number within `range`; `fallback` if it is not given. @throws UserError if out of range
  virtual double number_or(std::string_view name, const Range& range, double fallback,
                           std::string_view meaning) = 0;
  /// Reads a flag; `fallback` if it is not given. @throws UserError if it is not a flag
  virtual bool flag_or(std::string_view name, bool fallback, std::string_view meaning) = 0;
  /// Refuses the layer. @throws UserError with file, line, key path of the layer
  [[noreturn]] virtual void fail(std::string_view message) = 0;
  /// Refuses an attribute of the layer, or the layer itself if the attribute is not given. @throws UserError
  [[noreturn]] virtual void fail_at(std::string_view name, std::string_view message) = 0;
};

/// The relation of the features (channels) of a layer's output to those of its inputs.
enum class Features {
  kNew,        // each feature is a weighted combination of several
  kKept,       // feature i depends on feature i of the inputs only: activations, norms, pooling, sums
  kFlattened,  // a feature is an input feature at one place: channels, rows, columns
  kJoined,     // the features of all inputs, one input after the other
};

/// The relation of the distribution of an output feature to that of the same input feature.
enum class Distribution {
  kUnknown,
  kKept,        // about the same as the input's
  kRectified,   // the distribution of max(0, x)
  kNormalized,  // normalized by the statistics of the batch, with the tensors and attributes of batch_norm
};

/// Says when the output of a layer is zero everywhere, whatever its tensors are.
enum class Zeros {
  kUnknown,
  kIfAll,  // all inputs are zero: relu, a convolution without bias, concat
  kIfAny,  // one of the inputs is zero: products
  kAlways,
};

/// Facts about a layer that inheritance, groups, devices and the canonical form need.
struct Traits {
  Features features = Features::kNew;
  Distribution distribution = Distribution::kUnknown;
  bool adds = false;             // the output is the sum of the inputs
  bool draws = false;            // draws random numbers in training
  bool may_be_identity = false;  // some `weight` and `bias` make the first outputs equal to the inputs
  bool is_identity = false;      // the output is the input
  Zeros zeros = Zeros::kUnknown;

  bool normalizes() const { return distribution == Distribution::kNormalized; }
};

/// A kind of layer as the space knows it: attributes, shapes, tensors, costs. It must be stateless: all
/// threads share it. A new kind is one class and one registration (`register_layer_kind`) here, and one op in
/// the trainer (train/layer_op.hpp).
class LayerKind {
 public:
  virtual ~LayerKind() = default;
  /// Returns the name that configurations use, e.g. "conv2d".
  virtual std::string_view name() const = 0;
  /// Fills all of `layer.attributes`, independent of shapes. It is separate from `infer`, so that most
  /// mistakes of a space are found before any network is built. It must ask for every attribute that the kind
  /// accepts, whatever the values of the others are: attributes_of() lists the attributes by calling this
  /// function twice with a recording reader, which returns defaults, and for required integers first the
  /// minimum and then the minimum plus 2. Attributes that it doesn't ask for are refused with "did you mean".
  /// @throws UserError through `reader` if an attribute is missing or does not fit
  virtual void read_attributes(Layer& layer, AttributeReader& reader) const = 0;
  /// Fills output, tensors, inner_elements, flops and macs of `layer`. Its kind, inputs, input shapes and
  /// attributes are already set.
  /// @throws UserError through `reader` if the shapes do not fit
  virtual void infer(Layer& layer, AttributeReader& reader) const = 0;
  /// Returns whether a layer of this kind makes one output of several inputs.
  virtual bool merges() const { return false; }
  /// Returns the traits of a complete layer of this kind. The default guesses from shapes: features are kept
  /// if the layer has one input, the same shape before and after, and no tensor of more than one dimension.
  /// It also says that the layer may draw, so that two equal layers are never merged into one.
  virtual Traits traits(const Layer& layer) const;
  /// Takes down a complete layer of this kind as steps of an int8 network, and returns the layer's output.
  /// The default returns nullopt: the kind says nothing of int8, and a network with it has no int8 costs.
  virtual std::optional<Int8Tensor> int8(Int8Steps& /*steps*/) const { return std::nullopt; }
};

/// Adds a kind; call it before any space is parsed. @throws InternalError if the name is taken
void register_layer_kind(std::unique_ptr<LayerKind> kind);
/// An attribute of a kind, for schema and docs.
struct LayerAttribute {
  std::string name;
  std::string meaning;    // one sentence
  std::string expected;   // e.g. "a whole number of at least 1"
  ConfigNode schema;      // JSON schema of such a value; an expression may replace it
  bool required = false;  // true if it has no default
  ConfigNode fallback;    // the default; null if there is none, or if it depends on other attributes
};
/// Returns the attributes that a kind accepts.
std::vector<LayerAttribute> attributes_of(const LayerKind& kind);

/// Returns the kind of this name, or nullptr. The registry owns it; it is valid until the program ends.
const LayerKind* find_layer_kind(std::string_view name);
/// Returns the names of all registered kinds in alphabetical order.
std::vector<std::string> layer_kind_names();
/// Returns the traits of a layer by its kind. For a kind that is not registered these are the default ones.
Traits traits_of(const Layer& layer);

}  // namespace skyline::space

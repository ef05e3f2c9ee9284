#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/genotype.hpp"
#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {

/// The values that an expression reads in one genotype.
struct Bindings {
  const std::vector<Parameter>& parameters;
  const Genotype& genotype;
  std::int64_t classes;
  std::vector<bool>& used;     // used[p] becomes true when parameter p is read
  const Cost* cost = nullptr;  // costs of the genotype's network, where an expression may name them
  // [parameters], which of them the genotype uses; nullptr if all that are read. Conditions alone look at it.
  const std::vector<bool>* in_use = nullptr;
};

enum class Operation {
  kConstant,
  kParameter,
  kClasses,
  kCost,
  kSides,  // a height and a width
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kDivideWhole,
  kRemainder,
  kPower,
  kMin,
  kMax,
  kAbs,
  kEqual,
  kUnequal,
  kLess,
  kAtMost,
  kGreater,
  kAtLeast,
  kIn,  // whether the first operand equals one of the others
  kAnd,
  kOr,
  kNot,
  kIf
};

/// A part of an expression: an operation and its operands. Immutable, so that expressions share parts.
struct ExpressionNode {
  Operation operation = Operation::kConstant;
  Value constant;             // value of a kConstant
  std::size_t parameter = 0;  // index of a kParameter, or of a kCost in kCosts
  std::vector<std::shared_ptr<const ExpressionNode>> operands;
  std::size_t size = 1;  // number of nodes; a shared node counts at every place
};
using ExpressionPart = std::shared_ptr<const ExpressionNode>;

/// The meanings of names in an expression, at one place of a space.
class Names {
 public:
  struct Meaning {
    ExpressionPart part;
    bool given = false;  // an argument of a block: its user may give any value
  };
  virtual ~Names() = default;
  /// Returns the meaning, or nullopt if the name is unknown.
  virtual std::optional<Meaning> find(const std::string& name) = 0;
  virtual std::vector<std::string> known() const = 0;
  /// Returns the parameters to which meanings may refer.
  virtual const std::vector<Parameter>& parameters() const = 0;
  /// Returns whether a name may have the place of a parameter behind it: `$width.0`.
  virtual bool have_places() const { return false; }
  /// Counts the work on the expression. The reader of a whole space overrides this to bound the work.
  virtual void count_steps(std::size_t /*steps*/) {}
};

/// A value of the configuration as a small program: a constant, or arithmetic over parameters and $classes.
/// Immutable; cheap to evaluate.
class Expression {
 public:
  /// Parses a scalar. It is an expression if it has a `$`, or is unquoted and starts like arithmetic;
  /// anything else is the value that it reads as. A list is a height and a width, which may be expressions.
  /// @throws UserError for wrong syntax and unknown names
  static Expression parse(const ConfigNode& node, Names& names);
  /// Makes an expression that `source` does not write out, such as the number of a repetition.
  Expression(ExpressionPart root, ConfigNode source);

  /// Returns the value in one genotype.
  /// @throws UserError for a division that is not exact, an overflow, a word in arithmetic
  Value evaluate(const Bindings& bindings) const;
  /// Like evaluate. @throws UserError unless it is true or false
  bool holds(const Bindings& bindings) const;

  const ConfigNode& source() const { return source_; }
  const ExpressionPart& root() const { return root_; }
  /// Returns the indices of the parameters that the expression names, ascending.
  const std::vector<std::size_t>& parameters() const { return parameters_; }
  /// Returns the text of the source, with the value if that differs: "16 from `$width`".
  std::string describe(const Value& value) const;

 private:
  ExpressionPart root_;
  ConfigNode source_;
  std::vector<std::size_t> parameters_;
};

/// Returns whether the part is or contains `$classes`.
bool reads_classes(const ExpressionNode& node);
/// Compares as numbers, or as words or flags.
bool equal_values(const Value& left, const Value& right);
bool is_number(const Value& value);
ExpressionPart constant_part(Value value);
ExpressionPart parameter_part(std::size_t parameter);
/// @param cost  index in kCosts
ExpressionPart cost_part(std::size_t cost);

/// Returns the values of these parameters for a message, ", for lr=0.1 batch=16"; empty without parameters.
std::string values_text(const std::vector<Parameter>& parameters, const std::vector<std::size_t>& named,
                        const Genotype& genotype);

/// Returns the length of the name at the start of the text: letters, digits and `_`, no digit first.
std::size_t parameter_name_length(std::string_view text);
/// Returns whether the whole text is such a name.
bool is_parameter_name(std::string_view text);
/// Refuses a name that expressions cannot use. @throws UserError
/// @param noun  word for the named thing, e.g. "a parameter"
void check_name(const std::string& name, const std::string& noun, const ConfigNode& node);

}  // namespace skyline::space

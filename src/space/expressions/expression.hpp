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

/// What an expression reads in one genotype.
struct Bindings {
  const std::vector<Parameter>& parameters;
  const Genotype& genotype;
  std::int64_t classes;
  std::vector<bool>& used;  // used[p] becomes true when parameter p is read
};

enum class Operation {
  kConstant,
  kParameter,
  kClasses,
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
  kEqual,
  kUnequal,
  kLess,
  kAtMost,
  kGreater,
  kAtLeast,
  kAnd,
  kOr,
  kNot,
  kIf
};

/// A part of an expression: an operation and what it is applied to. Immutable, so that expressions share
/// parts.
struct ExpressionNode {
  Operation operation = Operation::kConstant;
  Value constant;             // of kConstant
  std::size_t parameter = 0;  // of kParameter
  std::vector<std::shared_ptr<const ExpressionNode>> operands;
  std::size_t size = 1;  // number of nodes, a shared one counted wherever it stands
};
using ExpressionPart = std::shared_ptr<const ExpressionNode>;

/// What the names in an expression stand for, at one place of a space.
class Names {
 public:
  struct Meaning {
    ExpressionPart part;
    bool given = false;  // by who uses the block: it may be anything
  };
  virtual ~Names() = default;
  /// Nothing if the name is unknown.
  virtual std::optional<Meaning> find(const std::string& name) = 0;
  virtual std::vector<std::string> known() const = 0;
  /// Those that meanings may refer to.
  virtual const std::vector<Parameter>& parameters() const = 0;
  /// Counts work on the expression, which whoever reads a whole space bounds.
  virtual void count_steps(std::size_t /*steps*/) {}
};

/// A scalar of the configuration as a small program: a constant, or arithmetic over parameters and $classes.
/// Immutable; cheap to evaluate.
class Expression {
 public:
  /// A scalar with a `$`, or an unquoted one that starts like arithmetic, is an expression; anything else is
  /// the value that it reads as.
  /// @throws UserError for wrong syntax and unknown names
  static Expression parse(const ConfigNode& scalar, Names& names);
  /// A value that `source` does not spell out, such as the number of a repetition.
  Expression(ExpressionPart root, ConfigNode source);

  /// @throws UserError for a division that is not exact, an overflow, a word in arithmetic
  Value evaluate(const Bindings& bindings) const;
  /// Like evaluate. @throws UserError unless it is true or false
  bool holds(const Bindings& bindings) const;

  const ConfigNode& source() const { return source_; }
  const ExpressionPart& root() const { return root_; }
  /// Indices of the parameters that the expression names, ascending.
  const std::vector<std::size_t>& parameters() const { return parameters_; }
  /// The text of the scalar, and the value if that is another: "16 from `$width`".
  std::string describe(const Value& value) const;

 private:
  ExpressionPart root_;
  ConfigNode source_;
  std::vector<std::size_t> parameters_;
};

/// Equal as numbers, or as words or flags.
bool equal_values(const Value& left, const Value& right);
bool is_number(const Value& value);
ExpressionPart constant_part(Value value);
ExpressionPart parameter_part(std::size_t parameter);

/// How much of the text, from its start, may follow a `$`: letters, digits and `_`, no digit first.
std::size_t parameter_name_length(std::string_view text);
/// Whether all of it may.
bool is_parameter_name(std::string_view text);
/// @param noun  of what is named, e.g. "a parameter" @throws UserError unless expressions can name it
void check_name(const std::string& name, const std::string& noun, const ConfigNode& node);

}  // namespace skyline::space

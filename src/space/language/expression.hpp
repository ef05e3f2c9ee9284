#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/genotype.hpp"
#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skyline::space {

/// The names that an expression may read, with their values in one genotype.
struct Bindings {
  const std::vector<Parameter>& parameters;
  const Genotype& genotype;
  std::int64_t classes;
  std::vector<bool>& used;  // used[p] becomes true when parameter p is read
};

/// A scalar of the configuration as a small program: a constant, or arithmetic over parameters and $classes.
/// Immutable; cheap to evaluate.
class Expression {
 public:
  /// A scalar with a `$`, or an unquoted one that starts like arithmetic, is an expression; anything else is
  /// the value that it reads as.
  /// @throws UserError for wrong syntax and unknown names
  static Expression parse(const ConfigNode& scalar, const std::vector<Parameter>& parameters);

  /// @throws UserError for a division that is not exact, an overflow
  Value evaluate(const Bindings& bindings) const;

  const ConfigNode& source() const { return source_; }
  /// Indices of the parameters that the expression names, ascending.
  const std::vector<std::size_t>& parameters() const { return parameters_; }

  enum class Operation {
    kConstant,
    kParameter,
    kClasses,
    kNegate,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
    kMin,
    kMax
  };
  /// One step of the program, in postfix order. kConstant pushes `constant`, kParameter the value of
  /// `parameter`.
  struct Step {
    Operation operation = Operation::kConstant;
    Value constant;
    std::size_t parameter = 0;
  };

 private:
  friend class ExpressionParser;
  ConfigNode source_;
  std::vector<Step> steps_;
  std::vector<std::size_t> parameters_;
};

/// Whether the text may follow a `$`: letters, digits and `_`, no digit first.
bool is_parameter_name(std::string_view text);

}  // namespace skyline::space

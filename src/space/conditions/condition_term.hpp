#pragma once

#include "skyline/space/search_space.hpp"

#include "space/conditions/number.hpp"
#include "space/expressions/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace skyline::space {

/// What a part of a condition is: a number, a word, true or false, null, sides, or nothing where it cannot be
/// calculated.
using Operand = std::variant<std::monostate, bool, const std::string*, Number, Null, Sides>;

/// The values of the parameters as conditions read them.
class ConditionValues {
 public:
  /// @param parameters  must outlive this object
  explicit ConditionValues(const std::vector<Parameter>& parameters);

  /// Types of a parameter's values; kinds() returns one bit for each.
  enum Kind : unsigned { kNumber = 1, kWord = 2, kFlag = 4, kInfinite = 8, kNull = 16, kSides = 32 };
  unsigned kinds(std::size_t parameter) const { return kinds_[parameter]; }
  /// Returns the values as doubles, which are in the order of the values, or an empty list if the parameter
  /// has other values.
  const std::vector<double>& numbers(std::size_t parameter) const { return numbers_[parameter]; }
  /// Looks at the values of a parameter, before a condition that names it is made.
  void add(std::size_t parameter);
  /// Makes the operands of a parameter. @pre add(parameter)
  void add_operands(std::size_t parameter);
  /// @pre add_operands(parameter)
  const Operand& operand(std::size_t parameter, std::size_t choice) const {
    return operands_[parameter][choice];
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::vector<unsigned> kinds_;
  std::vector<std::vector<double>> numbers_;
  std::vector<std::vector<Operand>> operands_;
};

/// A part of a condition, made for being calculated often. `/` is a division, and numbers are the decimals
/// that were written.
class ConditionTerm {
 public:
  /// @param source  is refused if a part can never be calculated. @throws UserError
  ConditionTerm(const ExpressionNode& node, const ConditionValues& values, std::int64_t classes,
                const ConfigNode& source);

  /// Returns the kinds of what it may be (ConditionValues::Kind).
  unsigned kinds() const { return kinds_; }
  /// Returns whether there may be choices for which it cannot be calculated.
  bool may_fail() const { return may_fail_; }
  /// Returns whether it calculates, or compares numbers that are not exact as doubles.
  bool is_arithmetic() const { return is_arithmetic_; }
  /// Calculates it, and only those operands on which it depends.
  /// @param why  gets what cannot be calculated, e.g. "3 / 0"; may be nullptr
  Operand calculate(const Bindings& bindings, const ConditionValues& values,
                    std::string* why = nullptr) const;
  /// Returns 0 if it is true, and otherwise a number above 0, which is the smaller the nearer the sides of
  /// its comparisons are.
  double violation(const Bindings& bindings, const ConditionValues& values) const;

 private:
  void examine(const ConfigNode& source);
  Operand logical(const Bindings& bindings, const ConditionValues& values, std::string* why) const;

  Operation operation_;
  std::size_t parameter_;
  Operand constant_;
  std::vector<ConditionTerm> operands_;
  unsigned kinds_ = 0;
  double factors_ = 1;  // its largest product is as large or small as that of so many doubles
  bool may_fail_ = false;
  bool is_arithmetic_ = false;
};

}  // namespace skyline::space

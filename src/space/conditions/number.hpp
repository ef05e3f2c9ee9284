#pragma once

#include "skyline/space/genotype.hpp"

#include "space/expressions/expression.hpp"

#include <compare>
#include <optional>
#include <string>
#include <variant>

namespace skyline::space {

__extension__ typedef __int128 Whole;

/// A fraction in lowest terms. Its denominator is above 0.
struct Fraction {
  Whole numerator = 0;
  Whole denominator = 1;
};

/// A number of which only this is known: it is at most `error` from `value`.
struct Bounded {
  long double value = 0;
  long double error = 0;
};

/// A number in a condition. The decimal that was written is exact, and so is what is calculated from it, as
/// long as numerator and denominator have at most 38 digits. Larger ones, and roots, have 18 digits and a
/// bound of their error.
using Number = std::variant<Fraction, Bounded>;

/// Returns the number whose decimal is the shortest text of the value. @pre is_number(value)
Number number_of(const Value& value);
/// Returns the nearest value.
Value value_of(const Number& number);
/// Returns the nearest double, of two the even one; of a number that is only bounded that of its middle.
double nearest_double(const Number& number);
Number negative(Number number);
/// Returns the decimal logarithm of the absolute value: 0 for 0, infinity for an infinite number.
double magnitude_of(const Number& number);
/// Returns the result, or nullopt if there is none: division by zero, root of a negative number, beyond
/// 10^4932.
/// @param operation  from kAdd to kMax; `//` and `%` round down, as in Python, also for fractions
std::optional<Number> calculate(const Number& left, const Number& right, Operation operation);
/// Compares exactly. Numbers that are only bounded are equal if their bounds overlap.
std::weak_ordering compare(const Number& left, const Number& right);

}  // namespace skyline::space

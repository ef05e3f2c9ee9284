#include "space/conditions/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace skyline::space {
namespace {

constexpr long double kRounding = std::numeric_limits<long double>::epsilon();  // more than one rounding

Whole shared_factor(Whole left, Whole right) {
  constexpr Whole kMost = std::numeric_limits<std::int64_t>::max();
  left = left < 0 ? -left : left;
  while (right != 0) {
    if (left <= kMost && right <= kMost) {
      return std::gcd(static_cast<std::int64_t>(left), static_cast<std::int64_t>(right));
    }
    left = std::exchange(right, left % right);
  }
  return left;
}

/// Brings a fraction to lowest terms. Returns nullopt if the numerator has no negative.
std::optional<Number> lowest(Whole numerator, Whole denominator) {
  constexpr Whole kLeast = Whole{1} << 127;
  if (numerator == kLeast) return std::nullopt;
  const Whole shared = denominator == 1 ? 1 : shared_factor(numerator, denominator);
  return Fraction{numerator / shared, denominator / shared};
}

std::optional<Number> exact_sum(const Fraction& left, const Fraction& right) {
  const bool is_whole = left.denominator == 1 && right.denominator == 1;
  const Whole shared = is_whole ? 1 : shared_factor(left.denominator, right.denominator);
  Whole of_left = 0;
  Whole of_right = 0;
  Whole numerator = 0;
  Whole denominator = 0;
  const bool is_too_large =
      __builtin_mul_overflow(left.numerator, right.denominator / shared, &of_left) ||
      __builtin_mul_overflow(right.numerator, left.denominator / shared, &of_right) ||
      __builtin_add_overflow(of_left, of_right, &numerator) ||
      __builtin_mul_overflow(left.denominator / shared, right.denominator, &denominator);
  if (is_too_large) return std::nullopt;
  return lowest(numerator, denominator);
}

std::optional<Number> exact_product(const Fraction& left, const Fraction& right) {
  const Whole first = right.denominator == 1 ? 1 : shared_factor(left.numerator, right.denominator);
  const Whole second = left.denominator == 1 ? 1 : shared_factor(right.numerator, left.denominator);
  Whole numerator = 0;
  Whole denominator = 0;
  const bool is_too_large =
      __builtin_mul_overflow(left.numerator / first, right.numerator / second, &numerator) ||
      __builtin_mul_overflow(left.denominator / second, right.denominator / first, &denominator);
  if (is_too_large) return std::nullopt;
  return lowest(numerator, denominator);
}

Whole floor_of(const Fraction& fraction) {
  const Whole quotient = fraction.numerator / fraction.denominator;
  return fraction.numerator % fraction.denominator < 0 ? quotient - 1 : quotient;
}

std::weak_ordering compare_exactly(Fraction left, Fraction right) {
  Whole of_left = 0;
  Whole of_right = 0;
  const bool is_too_large = __builtin_mul_overflow(left.numerator, right.denominator, &of_left) ||
                            __builtin_mul_overflow(right.numerator, left.denominator, &of_right);
  if (!is_too_large) return of_left <=> of_right;
  // The first terms in which the continued fractions differ decide. Reciprocals are in the other order.
  for (bool is_reciprocal = false;; is_reciprocal = !is_reciprocal) {
    of_left = floor_of(left);
    of_right = floor_of(right);
    const Whole rest_of_left = left.numerator - of_left * left.denominator;
    const Whole rest_of_right = right.numerator - of_right * right.denominator;
    const bool goes_on = of_left == of_right && rest_of_left != 0 && rest_of_right != 0;
    if (!goes_on) {
      if (is_reciprocal) std::swap(of_left, of_right);
      if (of_left != of_right) return of_left <=> of_right;
      const bool has_left = is_reciprocal ? rest_of_right != 0 : rest_of_left != 0;
      const bool has_right = is_reciprocal ? rest_of_left != 0 : rest_of_right != 0;
      return has_left <=> has_right;
    }
    left = {left.denominator, rest_of_left};
    right = {right.denominator, rest_of_right};
  }
}

Bounded bounds_of(const Number& number) {
  if (const auto* bounded = std::get_if<Bounded>(&number)) return *bounded;
  const auto& fraction = std::get<Fraction>(number);
  const long double value =
      static_cast<long double>(fraction.numerator) / static_cast<long double>(fraction.denominator);
  return {value, 2 * std::abs(value) * kRounding};
}

/// @param error  without what the rounding of `value` adds
std::optional<Number> bounded(long double value, long double error) {
  constexpr long double kRoundedUp = 1.001L;
  const bool is_known = std::isfinite(value) && std::isfinite(error);
  if (!is_known) return std::nullopt;
  return Bounded{value, error * kRoundedUp + std::abs(value) * kRounding};
}

bool is_zero(const Number& number) {
  return compare(number, Fraction{}) == 0;
}

/// Calculates exactly if both are exact and the result fits, otherwise by bounds.
template <typename Exact, typename ByBounds>
std::optional<Number> exactly_or(const Number& left, const Number& right, Exact exact, ByBounds by_bounds) {
  const auto* left_fraction = std::get_if<Fraction>(&left);
  const auto* right_fraction = std::get_if<Fraction>(&right);
  if (left_fraction != nullptr && right_fraction != nullptr) {
    if (auto result = exact(*left_fraction, *right_fraction)) return result;
  }
  return by_bounds(bounds_of(left), bounds_of(right));
}

std::optional<Number> added(const Number& left, const Number& right) {
  return exactly_or(left, right, exact_sum, [](const Bounded& l, const Bounded& r) {
    return bounded(l.value + r.value, l.error + r.error);
  });
}

std::optional<Number> multiplied(const Number& left, const Number& right) {
  return exactly_or(
      left, right, exact_product, [](const Bounded& l, const Bounded& r) -> std::optional<Number> {
        const long double value = l.value * r.value;
        const bool is_too_small = l.value != 0 && r.value != 0 && !std::isnormal(value);
        if (is_too_small) return std::nullopt;
        return bounded(value, std::abs(l.value) * r.error + std::abs(r.value) * l.error + l.error * r.error);
      });
}

std::optional<Number> divided(const Number& left, const Number& right) {
  if (is_zero(right)) return std::nullopt;
  if (const auto* divisor = std::get_if<Fraction>(&right)) {
    const bool flips = divisor->numerator < 0;
    return multiplied(left, Fraction{flips ? -divisor->denominator : divisor->denominator,
                                     flips ? -divisor->numerator : divisor->numerator});
  }
  const Bounded dividend = bounds_of(left);
  const auto& divisor = std::get<Bounded>(right);
  const long double value = dividend.value / divisor.value;
  if (dividend.value != 0 && !std::isnormal(value)) return std::nullopt;
  const long double smallest = std::abs(divisor.value) - divisor.error;
  return bounded(value, (dividend.error + std::abs(value) * divisor.error) / smallest);
}

std::optional<Number> rounded_down(const std::optional<Number>& number) {
  if (!number) return std::nullopt;
  if (const auto* fraction = std::get_if<Fraction>(&*number)) return Fraction{floor_of(*fraction), 1};
  const auto& bounds = std::get<Bounded>(*number);
  if (!(bounds.error < 0.5L && std::abs(bounds.value) < 0x1p126L)) return std::nullopt;
  const long double nearest = std::round(bounds.value);
  const bool is_whole = std::abs(bounds.value - nearest) <= bounds.error;
  return Fraction{static_cast<Whole>(is_whole ? nearest : std::floor(bounds.value)), 1};
}

std::optional<Number> whole_power(const Number& base, Whole exponent) {
  const auto times = [](const std::optional<Number>& left, const std::optional<Number>& right) {
    return left && right ? multiplied(*left, *right) : std::nullopt;
  };
  std::optional<Number> result = Fraction{1, 1};
  std::optional<Number> square = base;
  for (Whole rest = exponent < 0 ? -exponent : exponent; rest > 0; rest /= 2) {
    if (rest % 2 == 1) result = times(result, square);
    if (rest > 1) square = times(square, square);
  }
  return result && exponent < 0 ? divided(Fraction{1, 1}, *result) : result;
}

std::optional<Number> raised(const Number& base, const Number& exponent) {
  const auto* whole = std::get_if<Fraction>(&exponent);
  if (whole != nullptr && whole->denominator == 1) return whole_power(base, whole->numerator);
  const std::weak_ordering sign = compare(base, Fraction{});
  if (sign == 0 && compare(exponent, Fraction{}) > 0) return Fraction{};
  if (sign <= 0) return std::nullopt;
  const Bounded b = bounds_of(base);
  const Bounded e = bounds_of(exponent);
  const long double value = std::pow(b.value, e.value);
  if (!std::isnormal(value)) return std::nullopt;
  const long double relative =
      (std::abs(e.value) * b.error / b.value + std::abs(std::log(b.value)) * e.error);
  return bounded(value, std::abs(value) * (std::expm1(relative) + 2 * kRounding));
}

Whole power_of_ten(int exponent) {
  Whole power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

}  // namespace

Number number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Fraction{*integer, 1};
  const double number = std::get<double>(value);
  if (!std::isfinite(number)) return Bounded{number, 0};
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mark = text.find('e');
  Whole digits = 0;
  int exponent = std::atoi(buffer.data() + mark + 1);
  const std::size_t point = std::min(text.find('.'), mark);
  for (const char letter : text.substr(0, mark)) {
    if (letter >= '0' && letter <= '9') digits = digits * 10 + (letter - '0');
  }
  if (point < mark) exponent -= static_cast<int>(mark - point - 1);
  if (number < 0) digits = -digits;
  constexpr int kMostBefore = 20;  // with 17 digits before them, 37 in all
  constexpr int kMostBehind = 37;
  if (digits == 0) return Fraction{};
  if (exponent >= 0 && exponent <= kMostBefore) return Fraction{digits * power_of_ten(exponent), 1};
  if (exponent < 0 && -exponent <= kMostBehind) return *lowest(digits, power_of_ten(-exponent));
  long double nearest = 0;
  std::from_chars(buffer.data(), end, nearest);
  return Bounded{nearest, std::abs(nearest) * kRounding};
}

Value value_of(const Number& number) {
  const auto* fraction = std::get_if<Fraction>(&number);
  const bool is_integer = fraction != nullptr && fraction->denominator == 1 &&
                          static_cast<std::int64_t>(fraction->numerator) == fraction->numerator;
  if (is_integer) return static_cast<std::int64_t>(fraction->numerator);
  return static_cast<double>(bounds_of(number).value);
}

/// Divides bit by bit, until there are more digits than a double has; the last one says whether others
/// follow.
double nearest_double(const Number& number) {
  __extension__ typedef unsigned __int128 Magnitude;
  constexpr std::uint64_t kEnough = std::uint64_t{1} << 55U;
  constexpr int kBits = 127;
  const auto* fraction = std::get_if<Fraction>(&number);
  if (fraction == nullptr) return static_cast<double>(std::get<Bounded>(number).value);
  const bool is_negative = fraction->numerator < 0;
  const auto numerator = static_cast<Magnitude>(is_negative ? -fraction->numerator : fraction->numerator);
  const auto denominator = static_cast<Magnitude>(fraction->denominator);
  if (numerator == 0) return 0;
  std::uint64_t quotient = 0;
  Magnitude rest = 0;
  int place = kBits;  // bits of the numerator that are left; below 0 behind the point
  while (quotient < kEnough) {
    --place;
    rest = 2 * rest + (place >= 0 ? (numerator >> place) & 1U : 0U);
    const bool is_one = rest >= denominator;
    if (is_one) rest -= denominator;
    quotient = 2 * quotient + (is_one ? 1 : 0);
  }
  const bool is_cut = rest != 0 || (place > 0 && (numerator & ((Magnitude{1} << place) - 1)) != 0);
  const double value = std::ldexp(static_cast<double>(quotient | (is_cut ? 1U : 0U)), place);
  return is_negative ? -value : value;
}

Number negative(Number number) {
  if (auto* fraction = std::get_if<Fraction>(&number)) fraction->numerator = -fraction->numerator;
  if (auto* bounds = std::get_if<Bounded>(&number)) bounds->value = -bounds->value;
  return number;
}

double magnitude_of(const Number& number) {
  const long double size = std::abs(bounds_of(number).value);
  return size == 0 ? 0 : static_cast<double>(std::log10(size));
}

std::optional<Number> calculate(const Number& left, const Number& right, Operation operation) {
  switch (operation) {
    case Operation::kAdd:
      return added(left, right);
    case Operation::kSubtract:
      return added(left, negative(right));
    case Operation::kMultiply:
      return multiplied(left, right);
    case Operation::kDivide:
      return divided(left, right);
    case Operation::kDivideWhole:
      return rounded_down(divided(left, right));
    case Operation::kRemainder: {
      const auto whole = rounded_down(divided(left, right));
      const auto taken = whole ? multiplied(right, *whole) : std::nullopt;
      return taken ? added(left, negative(*taken)) : std::nullopt;
    }
    case Operation::kPower:
      return raised(left, right);
    case Operation::kMin:
      return compare(right, left) < 0 ? right : left;
    default:
      return compare(right, left) > 0 ? right : left;
  }
}

std::weak_ordering compare(const Number& left, const Number& right) {
  const auto* left_fraction = std::get_if<Fraction>(&left);
  const auto* right_fraction = std::get_if<Fraction>(&right);
  if (left_fraction != nullptr && right_fraction != nullptr) {
    return compare_exactly(*left_fraction, *right_fraction);
  }
  const Bounded l = bounds_of(left);
  const Bounded r = bounds_of(right);
  if (l.value == r.value || std::abs(l.value - r.value) <= l.error + r.error) {
    return std::weak_ordering::equivalent;
  }
  return l.value < r.value ? std::weak_ordering::less : std::weak_ordering::greater;
}

}  // namespace skyline::space

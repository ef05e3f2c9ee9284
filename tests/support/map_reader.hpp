#pragma once

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace skyline::testing {

using AttributeValues = std::map<std::string, space::Value>;

/// For layers that are made without a configuration: gives the values of a map, or else the defaults, and
/// refuses with the message alone.
class MapReader final : public space::AttributeReader {
 public:
  explicit MapReader(AttributeValues values = {}) : values_(std::move(values)) {}

  std::int64_t integer(std::string_view name, std::int64_t minimum, std::string_view /*meaning*/) override {
    if (!has(name)) fail(name);
    const auto value = std::get<std::int64_t>(values_.at(std::string(name)));
    if (value < minimum) fail(name);
    return value;
  }
  std::int64_t integer_or(std::string_view name, std::int64_t minimum, std::int64_t fallback,
                          std::string_view meaning) override {
    return has(name) ? integer(name, minimum, meaning) : fallback;
  }
  std::optional<std::int64_t> integer_or_word(std::string_view name, std::int64_t minimum,
                                              std::string_view /*word*/, std::string_view meaning) override {
    return has(name) ? std::optional(integer(name, minimum, meaning)) : std::nullopt;
  }
  space::Sides sides(std::string_view name, std::int64_t minimum, std::string_view meaning) override {
    if (has(name)) {
      const auto* sides = std::get_if<space::Sides>(&values_.at(std::string(name)));
      if (sides != nullptr) return *sides;
    }
    const std::int64_t side = integer(name, minimum, meaning);
    return {side, side};
  }
  space::Sides sides_or(std::string_view name, std::int64_t minimum, const space::Sides& fallback,
                        std::string_view meaning) override {
    return has(name) ? sides(name, minimum, meaning) : fallback;
  }
  std::optional<space::Sides> sides_or_word(std::string_view name, std::int64_t minimum,
                                            std::string_view /*word*/, std::string_view meaning) override {
    return has(name) ? std::optional(sides(name, minimum, meaning)) : std::nullopt;
  }
  double number_or(std::string_view name, const Range& range, double fallback,
                   std::string_view /*meaning*/) override {
    const double value = has(name) ? std::get<double>(values_.at(std::string(name))) : fallback;
    if (!range.holds(value)) fail(name);
    return value;
  }
  bool flag_or(std::string_view name, bool fallback, std::string_view /*meaning*/) override {
    return has(name) ? std::get<bool>(values_.at(std::string(name))) : fallback;
  }
  [[noreturn]] void fail(std::string_view message) override { throw UserError(std::string(message)); }
  [[noreturn]] void fail_at(std::string_view /*name*/, std::string_view message) override { fail(message); }

 private:
  bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  AttributeValues values_;
};

}  // namespace skyline::testing

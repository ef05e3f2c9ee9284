#pragma once

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include <optional>
#include <string>

namespace skyline::testing {

/// For layers that are made without a configuration: has no attributes, and refuses with the message alone.
class RefusingReader final : public space::AttributeReader {
 public:
  std::int64_t integer(std::string_view name, std::int64_t /*minimum*/, std::string_view) override {
    fail(name);
  }
  std::int64_t integer_or(std::string_view, std::int64_t, std::int64_t fallback, std::string_view) override {
    return fallback;
  }
  std::optional<std::int64_t> integer_or_word(std::string_view, std::int64_t, std::string_view,
                                              std::string_view) override {
    return std::nullopt;
  }
  double number_or(std::string_view, const Range&, double fallback, std::string_view) override {
    return fallback;
  }
  bool flag_or(std::string_view, bool fallback, std::string_view) override { return fallback; }
  [[noreturn]] void fail(std::string_view message) override { throw UserError(std::string(message)); }
  [[noreturn]] void fail_at(std::string_view, std::string_view message) override { fail(message); }
};

}  // namespace skyline::testing

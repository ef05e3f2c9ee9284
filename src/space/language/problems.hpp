#pragma once

#include "skyline/core/error.hpp"

#include "core/config/config_errors.hpp"

#include <cstddef>
#include <optional>

namespace skyline::space {

/// Thrown when a space grows beyond its bounds while it is read; it ends reading at once.
class SpaceTooLarge : public UserError {
 public:
  using UserError::UserError;
};

/// The mistakes of a space, up to a bound.
class Problems : public Mistakes {
 public:
  /// Runs the action and notes its UserError, if it throws one. @throws SpaceTooLarge after 1,000 mistakes
  template <typename Action>
  void attempt(Action&& action) {
    constexpr std::size_t kMostNoted = 1'000;
    std::optional<SpaceTooLarge> end;
    Mistakes::attempt([&] {
      try {
        action();
      } catch (const SpaceTooLarge& too_large) {
        end = too_large;
      }
    });
    if (!end && size() >= kMostNoted) end.emplace("the space has too many mistakes to read on");
    if (end) throw SpaceTooLarge(*end);
  }
};

}  // namespace skyline::space

#pragma once

#include "skyline/core/error.hpp"

#include "core/config/config_errors.hpp"

#include <cstddef>
#include <optional>

namespace skyline::space {

/// A space that grows beyond its bounds while it is read: reading ends at once.
class SpaceTooLarge : public UserError {
 public:
  using UserError::UserError;
};

/// The mistakes of a space, up to a bound.
class Problems : public Mistakes {
 public:
  /// Notes a UserError of the action, and goes on. @throws SpaceTooLarge after a thousand mistakes
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

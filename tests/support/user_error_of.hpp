#pragma once

#include "skyline/core/error.hpp"

#include <string>

namespace skyline::testing {

/// The message of the UserError that `action` throws, or a text that no test expects.
template <typename Action>
std::string user_error_of(Action&& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "(no UserError was thrown)";
}

}  // namespace skyline::testing

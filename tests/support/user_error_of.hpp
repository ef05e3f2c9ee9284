#pragma once

#include "skyline/core/error.hpp"

#include <string>

namespace skyline::testing {

/// The message of the error of this class that `action` throws, or a text that no test expects.
template <typename Error, typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  } catch (const Problem& problem) {
    return std::string("(another class) ") + problem.what();
  }
  return "(nothing was thrown)";
}

template <typename Action>
std::string user_error_of(Action&& action) {
  return error_of<UserError>(action);
}

template <typename Action>
std::string fault_error_of(Action&& action) {
  return error_of<FaultError>(action);
}

}  // namespace skyline::testing

#pragma once

#include <stdexcept>
#include <string>

namespace skyline {

/// The user's input is wrong: configuration, data or command line. The message is one line for a person, with
/// file, line, key, what was expected and what was found, as far as they apply. Ends the program with exit
/// code 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Our own mistake, or a broken machine. Ends the program with exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError with `message` if `condition` does not hold.
void require(bool condition, const char* message);

/// The system's text for an errno value, e.g. "No space left on device".
std::string system_error_text(int error_number);

}  // namespace skyline

#pragma once

#include <stdexcept>
#include <string>

namespace skyline {

/// Base of errors that are one line for a person, with file, line, key, what was expected and what was found,
/// as far as they apply. Code that need not know who can mend an error catches this class. Only the two
/// derived classes are thrown.
class Problem : public std::runtime_error {
 protected:
  explicit Problem(const std::string& message) : std::runtime_error(message) {}
};

/// The user's input is wrong: configuration, data or command line.
class UserError : public Problem {
 public:
  explicit UserError(const std::string& message) : Problem(message) {}
};

/// Something outside failed, and the same job may work another time or on another machine: a hanging file
/// server, a full disk, a GPU, MPI, a rank that fell silent.
class FaultError : public Problem {
 public:
  explicit FaultError(const std::string& message) : Problem(message) {}
};

/// A mistake of Skyline itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError with `message` if `condition` does not hold.
void require(bool condition, const char* message);

/// Returns the system's text for an errno value, e.g. "No space left on device". It names the limit of this
/// process that may be the cause.
std::string system_error_text(int error_number);

}  // namespace skyline

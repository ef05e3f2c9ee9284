#include "skyline/core/error.hpp"

#include "skyline/core/exit_code.hpp"

#include <new>
#include <system_error>

namespace skyline {
namespace {

template <typename Error>
bool is_a(const std::exception& error) {
  return dynamic_cast<const Error*>(&error) != nullptr;
}

}  // namespace

void require(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

std::string system_error_text(int error_number) {
  return std::generic_category().message(error_number);
}

int exit_code_of(const std::exception& error) {
  if (is_a<UserError>(error)) return kExitUserError;
  if (is_a<FaultError>(error) || is_a<std::bad_alloc>(error) || is_a<std::system_error>(error))
    return kExitFault;
  return kExitBug;
}

std::string error_text(const std::exception& error) {
  if (is_a<std::bad_alloc>(error)) return "the system has no more memory for this process";
  return exit_code_of(error) == kExitBug ? std::string("internal error: ") + error.what() : error.what();
}

}  // namespace skyline

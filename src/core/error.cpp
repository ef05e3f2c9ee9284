#include "skyline/core/error.hpp"

#include <string>
#include <system_error>

namespace skyline {

void require(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

std::string system_error_text(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace skyline

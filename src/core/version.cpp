#include "core/version.hpp"

namespace skyline {

const char* program_version() {
  return SKYLINE_VERSION;
}

}  // namespace skyline

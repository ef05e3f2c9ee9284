#include "skyline/space/genotype.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"

#include <charconv>

namespace skyline::space {

std::string to_text(ArchId id) {
  return to_hex(static_cast<std::uint64_t>(id));
}

ArchId parse_arch_id(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, 16);
  const bool whole = result.ec == std::errc() && result.ptr == end && text.size() == 16;
  if (!whole) throw UserError("expected an arch id of 16 hex digits, got `" + text + "`");
  return ArchId{value};
}

}  // namespace skyline::space

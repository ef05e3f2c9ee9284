#include "core/text/shallow_json.hpp"

#include <cstddef>

namespace skyline {

std::string_view shallow_json(std::string_view text) {
  constexpr int kDeepest = 100;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return {};
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return text;
}

}  // namespace skyline

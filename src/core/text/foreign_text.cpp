#include "core/text/foreign_text.hpp"

#include "core/system/standard_output.hpp"

#include <algorithm>
#include <cctype>

#include <unistd.h>

namespace skyline {
namespace {

/// Returns the bytes of the character at the start of `text`, which is not empty, or 0 if they are not UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xc2 && first < 0xe0   ? 2
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xf0 && first < 0xf5 ? 4
                                                            : 0;
  const std::string_view rest = text.substr(0, bytes).substr(std::min<std::size_t>(bytes, 1));
  return text.size() >= bytes && std::ranges::all_of(rest, continues_character) ? bytes : 0;
}

/// Control characters are U+0000 to U+001F and U+007F to U+009F; terminals obey the latter, too. So are the
/// marks that turn the direction of what follows, U+202A to U+202E and U+2066 to U+2069.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  if (first == 0xc2) return static_cast<unsigned char>(character[1]) < 0xa0;
  return ("\u202a" <= character && character <= "\u202e") || ("\u2066" <= character && character <= "\u2069");
}

void add_escaped(std::string_view bytes, std::string& shown) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    shown += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
  }
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    const bool plain =
        bytes > 0 && (!is_control(character) || kept.find(character) != std::string_view::npos);
    if (plain) {
      shown += character;
    } else {
      add_escaped(character, shown);
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

void say(std::string_view text) {
  (void)write_whole(STDERR_FILENO, "skyline: " + printable(text) + "\n");
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

std::size_t characters_in(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_character));
}

std::string shortened(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  if (text.size() > most) {
    std::size_t end = most - 3;
    // never cut inside a character
    while (end > 0 && continues_character(text[end])) --end;
    shown = std::string(text.substr(0, end)) + "...";
  }
  std::ranges::replace(shown, '\n', ' ');
  return shown;
}

std::string in_quotes(std::string_view word) {
  return '`' + shortened(word) + '`';
}

std::string in_shell(std::string_view word) {
  constexpr std::string_view kPlain = "_./=,:@%+-";
  const auto is_plain = [&](unsigned char letter) {
    return std::isalnum(letter) != 0 || kPlain.find(static_cast<char>(letter)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

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

#include "core/config/foreign_words.hpp"

#include "core/text/wording.hpp"

#include <algorithm>

namespace skyline {
namespace {

/// Returns the word of an entry that has these letters, as its tool spells it; empty if there is none.
std::string_view spelling_of(const std::string& letters, std::string_view words) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (letters_of(word) == letters) return word;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return {};
}

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  return !word.empty() && words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

std::string letters_of(std::string_view word) {
  std::string letters = lower_case(word);
  std::erase_if(letters, [](char letter) { return letter == '_' || letter == '-'; });
  return letters;
}

std::string answer_to(std::string_view word, const ForeignWords& entry) {
  const std::string addition = entry.addition.empty() ? "" : ", " + std::string(entry.addition);
  if (entry.tool.empty()) return std::string(entry.answer) + addition;
  return std::string(entry.tool) + (entry.tool.ends_with('s') ? "' " : "'s ") + std::string(word) + " is " +
         std::string(entry.answer) + " here" + addition;
}

std::string foreign_answer(std::string_view word, const std::vector<std::string>& known,
                           std::string_view kind) {
  const std::string letters = letters_of(word);
  // A name of the same letters is the nearest word.
  if (letters.empty() || std::ranges::find(known, letters, letters_of) != known.end()) return {};
  for (const ForeignWords& entry : foreign_words()) {
    const std::string_view spelling = spelling_of(letters, entry.words);
    if (spelling.empty()) continue;
    const auto is_mark = [&](const std::string& name) {
      return has_word(entry.place.marks, std::string(kind) + name);
    };
    if (std::ranges::any_of(known, is_mark)) return answer_to(spelling, entry);
  }
  return {};
}

}  // namespace skyline

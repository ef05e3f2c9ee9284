#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

/// Where a word is refused: the answer to it holds there alone.
struct WordPlace {
  std::string_view name;  // shown in docs/configuration.md
  /// Words with a blank on both sides of each. One of them is known in each such place; `key:` stands for the
  /// place of that key's value.
  std::string_view marks;
};

/// Words of other tools, and what they are called here.
struct ForeignWords {
  std::string_view words;  // in the spelling of their tool, with blanks between
  WordPlace place;
  std::string_view tool;  // empty if `answer` is a whole sentence
  std::string_view answer;
  std::string_view addition = {};  // follows the answer
};

/// Returns the table of all words. Of several entries for a word, the first one whose place fits holds.
std::span<const ForeignWords> foreign_words();

/// Returns what an entry says of one of its words: "Optuna's n_trials is `search.trials` here".
std::string answer_to(std::string_view word, const ForeignWords& entry);

/// Returns the answer to a word that is refused, or "" if the table has none.
/// @param known  the words that are known there, or `key:` for the value of a key
std::string foreign_answer(std::string_view word, const std::vector<std::string>& known);

/// Returns whether a word is among words that have a blank on both sides of each.
bool has_word(std::string_view words, std::string_view word);

/// Returns a word in small letters, without `_` and `-`.
std::string letters_of(std::string_view word);

}  // namespace skyline

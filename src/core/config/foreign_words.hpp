#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

/// Where a word is refused: the answer to it holds there alone.
struct WordPlace {
  std::string_view name;  // shown in docs/configuration.md
  /// Words with a blank on both sides of each. One of them is known in each such place. `metric:flops` stands
  /// for a place where this metric is known, `training.device:` for the value of this key.
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
/// @param known  the words that are known there, or `training.device:` for the value of a key
/// @param kind  beginning of the marks of these words, such as `metric:`
std::string foreign_answer(std::string_view word, const std::vector<std::string>& known,
                           std::string_view kind = {});

/// The owner of the names among which an unknown word is looked for.
enum class NamesOf {
  kProgram,
  kUser,     // no word of another tool is answered: all candidates may be the user's
  kMetrics,  // metrics of a run; an answer names one of them
};

/// Returns the end of an error about an unknown word, as `suggestion` of config_node.hpp does among names of
/// the program.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, NamesOf names);

/// Returns whether a word is among words that have a blank on both sides of each.
bool has_word(std::string_view words, std::string_view word);

/// Returns a word in small letters, without `_` and `-`.
std::string letters_of(std::string_view word);

}  // namespace skyline

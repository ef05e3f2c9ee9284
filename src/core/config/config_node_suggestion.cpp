#include "skyline/core/config_node.hpp"

#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>

namespace skyline {
namespace {

constexpr std::size_t kShortestBeginning = 3;  // letters of a beginning or an end that suggests its word
constexpr std::size_t kShortestMisspelt =
    6;                                     // letters of an end that suggests its word with one letter wrong
constexpr std::size_t kLongestWord = 200;  // Longer words are not compared.

// Names of methods of the field, in small letters and without separators. They are never taken for
// misspellings of other names, however near they are. Each has a blank on both sides.
constexpr std::string_view kMethods =
    " adadelta adafactor adagrad adam adamax adamw asgd lamb lars lbfgs lion nadam radam rmsprop rprop "
    "sgd celu elu gelu glu mish prelu relu relu6 rrelu selu silu swish leakyrelu hardswish avgpool "
    "maxpool lppool adaptiveavgpool conv1d conv2d conv3d batchnorm groupnorm instancenorm layernorm "
    "rmsnorm dropout droppath accuracy precision recall f1 mae mape mse msle rmse huber hinge focal "
    "crossentropy binarycrossentropy nsga2 nsga3 moead smsemoa ";

/// Returns true if the word names another method than the candidate.
bool is_another_method(std::string_view word, const std::string& candidate) {
  std::string letters = letters_of(word);
  std::string other = letters_of(candidate);
  // Names of metrics begin with the name of a set.
  for (const std::string_view set : {"validation", "test", "train"}) {
    if (!other.starts_with(set)) continue;
    other.erase(0, set.size());
    if (letters.starts_with(set)) letters.erase(0, set.size());
  }
  return letters != other && has_word(kMethods, letters);
}

// Returns the restricted Damerau-Levenshtein distance: insert, delete or replace one letter, swap two
// neighbours. Case does not count. Only the last three rows of the table are kept.
std::size_t edit_distance(const std::string& left, const std::string& right) {
  std::vector<std::size_t> before_last(right.size() + 1);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j < last.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[right.size()];
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) return "";
  std::string nearest;
  std::size_t smallest = std::string::npos;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    // Up to a third of the letters may be wrong, but never all of them.
    const std::size_t most = (longer + 2) / 3;
    if (longer - std::min(word.size(), candidate.size()) > most) continue;
    const std::size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance > most || distance >= longer || distance >= smallest) continue;
    if (is_another_method(word, candidate)) continue;
    smallest = distance;
    nearest = candidate;
  }
  if (!nearest.empty() || word.size() < kShortestBeginning) return nearest;
  const std::string part = lower_case(word);
  const auto longer = std::ranges::find_if(candidates, [&](const std::string& candidate) {
    const std::string whole = lower_case(candidate);
    const std::size_t last = whole.rfind('_') + 1;  // begin of the last part; 0 if it is the only one
    const bool is_near = part.size() >= kShortestMisspelt && last > 0 &&
                         whole.size() - last <= kLongestWord && edit_distance(part, whole.substr(last)) <= 1;
    return (whole.starts_with(part) || whole.ends_with("_" + part) || is_near) &&
           !is_another_method(word, candidate);
  });
  return longer == candidates.end() ? "" : *longer;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  return suggestion(word, candidates, NamesOf::kProgram);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, NamesOf names) {
  constexpr std::size_t kMostShown = 100;
  if (names != NamesOf::kUser) {
    const std::string answer = foreign_answer(word, candidates, names == NamesOf::kMetrics ? "metric:" : "");
    if (!answer.empty()) return answer;
  }
  const std::string nearest = nearest_word(word, candidates);
  if (!nearest.empty()) return "did you mean " + in_quotes(nearest) + "?";
  if (candidates.empty()) return "none is known here";
  std::vector<std::string> shown;
  for (const std::string& candidate : candidates) {
    if (shown.size() < kMostShown) shown.push_back(shortened(candidate));
  }
  const std::size_t more = candidates.size() - shown.size();
  return "known here: " + joined(shown) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace skyline

#include "store/import/array_groups.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

namespace skyline::store {
namespace {

[[noreturn]] void fail_missing(const SourceArray& array, std::size_t row) {
  array.fail("row " + std::to_string(row) + ": the group is missing");
}

/// Reads whole numbers, which may be indices of words.
std::vector<std::int64_t> numbers_in(const SourceArray& array) {
  std::vector<std::byte> bytes(array.rows() * array.row_bytes());
  array.open()->read(bytes);
  std::vector<std::int64_t> numbers(array.rows());
  if (array.type.kind != ElementType::Kind::kFloat) {
    to_integers(array.type, bytes, numbers);
    return numbers;
  }
  std::vector<double> values(array.rows());
  to_doubles(array.type, bytes, values);
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (std::isnan(values[row])) fail_missing(array, row);
    if (values[row] != std::floor(values[row]) || std::abs(values[row]) > 1e15)
      array.fail("row " + std::to_string(row) + ": expected whole numbers or words for groups, got " +
                 std::to_string(values[row]));
    numbers[row] = static_cast<std::int64_t>(values[row]);
  }
  return numbers;
}

/// Returns the different entries of an array as texts, in the order in which they first occur.
/// @param places  gets for each row the index of its entry
std::vector<std::string> entries_of(const SourceArray& array, std::vector<std::int32_t>& places) {
  std::vector<std::string> entries;
  std::unordered_map<std::int64_t, std::int32_t> known;
  const std::vector<std::int64_t> numbers = numbers_in(array);
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const auto [place, is_new] = known.try_emplace(numbers[row], static_cast<std::int32_t>(entries.size()));
    places.push_back(place->second);
    if (!is_new) continue;
    entries.push_back(array.words.empty() ? std::to_string(numbers[row])
                                          : array.words[static_cast<std::size_t>(numbers[row])]);
    if (entries.back().empty()) fail_missing(array, row);
  }
  return entries;
}

/// Refuses groups of which some are in the training set.
void check_apart(const PartArrays& part, const std::vector<std::string>& training) {
  std::vector<std::int32_t> ignored;
  const std::vector<std::string> own = entries_of(*part.group, ignored);
  std::vector<std::string> sorted = training;
  std::ranges::sort(sorted);
  std::vector<std::string> shared;
  std::ranges::copy_if(own, std::back_inserter(shared),
                       [&](const std::string& entry) { return std::ranges::binary_search(sorted, entry); });
  if (shared.empty()) return;
  part.group->fail(std::to_string(shared.size()) + " of " + counted(own.size(), "group") +
                   " are in the training set, too, e.g. " + in_quotes(shared.front()));
}

}  // namespace

TrainingGroups read_groups(const std::vector<PartArrays>& parts) {
  for (const PartArrays& part : parts) {
    if (!part.group) continue;
    if (part.group->rows() == part.x.rows() && part.group->row_elements() == 1) continue;
    part.group->fail("expected " + std::to_string(part.x.rows()) + " groups, one for each sample, got " +
                     std::to_string(part.group->rows() * part.group->row_elements()));
  }
  TrainingGroups groups;
  const std::vector<std::string> training = entries_of(parts.front().group.value(), groups.numbers);
  groups.count = training.size();
  for (const PartArrays& part : parts) {
    if (part.part != Part::kTrain && part.group) check_apart(part, training);
  }
  return groups;
}

}  // namespace skyline::store

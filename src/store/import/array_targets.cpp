#include "store/import/array_targets.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostTargets = std::size_t{1} << 28;  // targets of a part, which are read as a whole
constexpr std::size_t kMostOutputs = std::size_t{1} << 16;

std::vector<std::byte> read_all(const SourceArray& array) {
  std::vector<std::byte> bytes(array.rows() * array.row_bytes());
  array.open()->read(bytes);
  return bytes;
}

std::vector<float> read_floats(const SourceArray& array) {
  std::vector<float> values(array.rows() * array.row_elements());
  to_floats(array.type, read_all(array), values);
  return values;
}

/// Reads whole numbers of any stored type.
std::vector<std::int64_t> read_integers(const SourceArray& array) {
  std::vector<std::int64_t> values(array.rows() * array.row_elements());
  if (array.type.kind != ElementType::Kind::kFloat) {
    to_integers(array.type, read_all(array), values);
    return values;
  }
  const std::vector<float> floats = read_floats(array);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    if (floats[i] != std::floor(floats[i]) || std::abs(floats[i]) > 1e15F)
      array.fail("target number " + std::to_string(i) + " is not a whole number");
    values[i] = static_cast<std::int64_t>(floats[i]);
  }
  return values;
}

/// Returns the position of the single 1 in each row.
std::vector<std::int64_t> places_of_ones(const SourceArray& array) {
  const std::vector<std::int64_t> values = read_integers(array);
  const std::size_t columns = array.row_elements();
  std::vector<std::int64_t> places;
  for (std::size_t row = 0; row < array.rows(); ++row) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * columns);
    const auto end = begin + static_cast<std::ptrdiff_t>(columns);
    const auto one = std::find(begin, end, 1);
    if (one == end || std::count(begin, end, 0) != static_cast<std::ptrdiff_t>(columns) - 1)
      array.fail("row " + std::to_string(row) +
                 ": expected a single 1 and else 0, since the targets are classes");
    places.push_back(one - begin);
  }
  return places;
}

std::vector<std::int64_t> different_values(std::vector<std::int64_t> values, const SourceArray& array) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > kMostOutputs) {
    array.fail(std::to_string(values.size()) +
               " different targets are too many classes (--targets=numbers?)");
  }
  return values;
}

ArrayTargets numbered(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& classes,
                      const SourceArray& array) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = std::ranges::lower_bound(classes, values[i]);
    if (place == classes.end() || *place != values[i])
      array.fail("target number " + std::to_string(i) + " is a class that the training set does not have");
    labels.push_back(static_cast<std::int32_t>(place - classes.begin()));
  }
  return {std::move(labels), 1};
}

/// Returns the given names, the names of the elements of a row, or their numbers.
std::vector<std::string> names_of_elements(const SourceArray& array, const std::vector<std::string>& given) {
  if (!given.empty() && given.size() != array.row_elements())
    array.fail("has " + counted(array.row_elements(), "target") + " of a sample, and class_names " +
               counted(given.size(), "name"));
  if (!given.empty()) return given;
  if (!array.names.empty()) return array.names;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < array.row_elements(); ++i) names.push_back(std::to_string(i));
  return names;
}

/// Reads words as classes. They are numbered in the order of the names if there are some, else of the
/// alphabet, whatever their order in the array.
TargetSet read_words(std::span<const SourceArray> arrays, const std::vector<std::string>& names) {
  TargetSet set{names, {}};
  if (names.empty()) {
    set.names = arrays.front().words;
    std::ranges::sort(set.names);
  }
  std::map<std::string, std::int32_t> numbers;
  for (const std::string& name : set.names) numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
  for (const SourceArray& array : arrays) {
    std::vector<std::int32_t> classes;
    for (const std::string& word : array.words) {
      const auto known = numbers.find(word);
      if (known == numbers.end())
        array.fail("`" + word + "` is a class that " +
                   (names.empty() ? "the training set does" : "class_names do") + " not have");
      classes.push_back(known->second);
    }
    std::vector<std::int32_t> labels;
    for (const std::int64_t place : read_integers(array))
      labels.push_back(classes[static_cast<std::size_t>(place)]);
    set.targets.push_back({std::move(labels), 1});
  }
  return set;
}

/// Checks that whole numbers are indices of names.
void check_named(const std::vector<std::int64_t>& values, std::size_t names, const SourceArray& array) {
  const auto wrong = std::ranges::find_if_not(
      values, [&](std::int64_t value) { return value >= 0 && value < static_cast<std::int64_t>(names); });
  if (wrong == values.end()) return;
  array.fail("target number " + std::to_string(wrong - values.begin()) + ": expected a class from 0 to " +
             std::to_string(names - 1) + ", the place of its name in class_names, got " +
             std::to_string(*wrong));
}

TargetSet read_classes(std::span<const SourceArray> arrays, const std::vector<std::string>& names) {
  if (!arrays.front().words.empty()) return read_words(arrays, names);
  const bool one_hot = arrays.front().row_elements() > 1;
  const auto read = [one_hot](const SourceArray& array) {
    return one_hot ? places_of_ones(array) : read_integers(array);
  };
  TargetSet set;
  const std::vector<std::string> columns =
      names_of_elements(arrays.front(), one_hot ? names : std::vector<std::string>{});
  std::vector<std::int64_t> classes;
  if (!names.empty()) {
    classes.resize(names.size());
    std::iota(classes.begin(), classes.end(), 0);
    set.names = names;
  }
  for (const SourceArray& array : arrays) {
    const std::vector<std::int64_t> values = read(array);
    if (!names.empty()) check_named(values, names.size(), array);
    if (classes.empty()) classes = different_values(values, array);
    set.targets.push_back(numbered(values, classes, array));
  }
  if (!names.empty()) return set;
  for (const std::int64_t value : classes)
    set.names.push_back(one_hot ? columns[static_cast<std::size_t>(value)] : std::to_string(value));
  return set;
}

TargetSet read_labels(std::span<const SourceArray> arrays, const std::vector<std::string>& names) {
  const std::size_t each = arrays.front().row_elements();
  TargetSet set{names_of_elements(arrays.front(), names), {}};
  std::size_t ones = 0;
  std::size_t rows = 0;
  for (const SourceArray& array : arrays) {
    const std::vector<std::int64_t> values = read_integers(array);
    std::vector<std::uint8_t> labels;
    for (const std::int64_t value : values) {
      if (value != 0 && value != 1) {
        array.fail("expected 0 or 1 for each label, got " + std::to_string(value) + " (--targets=numbers?)");
      }
      labels.push_back(static_cast<std::uint8_t>(value));
    }
    ones += static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
    rows += array.rows();
    set.targets.push_back({std::move(labels), each});
  }
  if (ones == rows)
    set.notes.emplace_back(
        "check: one label per sample on average: if they exclude each other, say --targets=classes");
  return set;
}

bool are_one_hot(const std::vector<float>& values, std::size_t each) {
  if (each == 1) return false;
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(each)) {
    const auto end = row + static_cast<std::ptrdiff_t>(each);
    if (std::count(row, end, 1.0F) != 1 ||
        std::count(row, end, 0.0F) != static_cast<std::ptrdiff_t>(each) - 1)
      return false;
  }
  return true;
}

TargetSet read_numbers(std::span<const SourceArray> arrays, std::optional<TargetKind> kind,
                       const std::vector<std::string>& names) {
  const std::size_t each = arrays.front().row_elements();
  TargetSet set{names_of_elements(arrays.front(), names), {}};
  for (const SourceArray& array : arrays) set.targets.push_back({read_floats(array), each});
  const auto& first = std::get<2>(set.targets.front().values);
  const bool whole = arrays.front().were_whole.value_or(
      std::ranges::all_of(first, [](float value) { return value == std::floor(value); }));
  if (!kind && are_one_hot(first, each)) {
    set.notes.emplace_back(
        "check: each row of the targets has a single 1: if they are classes, say --targets=classes");
  } else if (!kind && whole) {
    set.notes.emplace_back(
        "check: all targets are whole numbers: if they are " +
        std::string(each == 1 ? "classes, say --targets=classes" : "labels, say --targets=labels"));
  }
  return set;
}

TargetKind kind_of(const SourceArray& array) {
  if (!array.words.empty()) return TargetKind::kClasses;
  if (array.type.kind == ElementType::Kind::kFloat) return TargetKind::kNumbers;
  return array.row_elements() == 1 ? TargetKind::kClasses : TargetKind::kLabels;
}

}  // namespace

std::size_t ArrayTargets::count() const {
  return std::visit([](const auto& array) { return array.size(); }, values) / each;
}

ArrayTargets ArrayTargets::of(std::span<const std::size_t> samples) const {
  ArrayTargets some{{}, each};
  std::visit(
      [&](const auto& array) {
        std::decay_t<decltype(array)> picked;
        picked.reserve(samples.size() * each);
        for (const std::size_t sample : samples) {
          const auto begin = array.begin() + static_cast<std::ptrdiff_t>(sample * each);
          picked.insert(picked.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
        }
        some.values = std::move(picked);
      },
      values);
  return some;
}

std::vector<std::int32_t> ArrayTargets::labels() const {
  const auto* const classes = std::get_if<std::vector<std::int32_t>>(&values);
  return classes != nullptr ? *classes : std::vector<std::int32_t>(count());
}

std::vector<std::string> read_names(const SourceArray& array) {
  if (array.row_elements() != 1 || array.rows() > kMostOutputs ||
      array.type.kind == ElementType::Kind::kFloat)
    array.fail("expected at most " + std::to_string(kMostOutputs) + " names");
  std::vector<std::string> names;
  for (const std::int64_t value : read_integers(array))
    names.push_back(array.words.empty() ? std::to_string(value)
                                        : array.words[static_cast<std::size_t>(value)]);
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) array.fail("two classes are called " + in_quotes(*twice));
  return names;
}

TargetSet read_targets(std::span<const SourceArray> arrays, std::optional<TargetKind> kind,
                       const std::vector<std::string>& names) {
  const SourceArray& first = arrays.front();
  for (const SourceArray& array : arrays) {
    if (array.row_elements() != first.row_elements() || array.dims.size() > 2)
      array.fail("expected targets [N] or [N, K], the same K in all parts");
    if (array.words.empty() != first.words.empty())
      array.fail(std::string("expected ") + (first.words.empty() ? "numbers" : "words") + " as in " +
                 first.label());
    // The limit is needed because a packed file of some kilobytes may claim any number of targets.
    if (array.rows() > kMostTargets / array.row_elements()) {
      array.fail("expected at most " + std::to_string(kMostTargets) + " targets, got " +
                 std::to_string(array.rows()) + " x " + std::to_string(array.row_elements()));
    }
  }
  if (first.row_elements() > kMostOutputs) {
    first.fail("expected at most " + std::to_string(kMostOutputs) + " targets of a sample, got " +
               std::to_string(first.row_elements()));
  }
  const TargetKind chosen = kind.value_or(kind_of(first));
  if (!first.words.empty() && chosen != TargetKind::kClasses)
    first.fail("expected numbers, got words" + (first.doubt.empty() ? "" : ": " + first.doubt));
  switch (chosen) {
    case TargetKind::kClasses:
      return read_classes(arrays, names);
    case TargetKind::kLabels:
      return read_labels(arrays, names);
    case TargetKind::kNumbers:
      return read_numbers(arrays, kind, names);
  }
  throw InternalError("unknown kind of targets");
}

}  // namespace skyline::store

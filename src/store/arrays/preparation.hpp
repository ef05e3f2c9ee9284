#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// One value of a sample, made from a column of a table.
struct SampleFeature {
  std::string column;                  // its name, or its number from 1 in a table without names
  double subtract = 0;                 // subtracted before a number becomes a float
  std::optional<double> missing = {};  // stands for a missing number; without it a missing number is refused
  bool is_missing = false;             // 1 where the number is missing, else 0
  std::optional<std::string> is = {};  // 1 where the column has this word, else 0
  std::vector<std::string> is_not = {};  // 1 where the column has none of these words, else 0
  std::string date = {};   // number of a date: "days" since 1970, "year", "month", "weekday" or "hour"
  std::string order = {};  // with a column of dates: "ymd", "dmy" or "mdy"

  /// Returns whether the column has words.
  bool is_word() const { return is.has_value() || !is_not.empty(); }
  /// Returns the column, and what is asked of it: "age", "age is missing", "near = bay", "near = other",
  /// "sold (month)".
  std::string name() const;
  bool operator==(const SampleFeature&) const = default;
};

/// A column with targets. Numbers are stored as (number - mean) / deviation; with a transform mean and
/// deviation are those of the transformed numbers.
struct TargetColumn {
  enum class Transform { kNone, kLog, kLog1p };

  std::string column;
  double mean = 0;
  double deviation = 1;
  Transform transform = Transform::kNone;

  /// Returns the value that is stored for a number; not finite for one that has no logarithm.
  double stored(double number) const;
  /// Returns the number that a stored value stands for, in the unit of the source.
  double number(double stored) const;
  /// Returns whether both store numbers alike.
  bool scales_like(const TargetColumn& other) const {
    return mean == other.mean && deviation == other.deviation && transform == other.transform;
  }
};
/// Returns "log" or "log1p"; empty for none.
std::string_view to_text(TargetColumn::Transform transform);

/// The spectrogram that is made of a sound of `length` samples (docs/data.md, "Sounds"). Sizes are in
/// samples, frequencies in Hz.
struct LogMel {
  std::int64_t rate = 0;
  std::int64_t length = 0;
  std::int64_t window = 0;
  std::int64_t hop = 0;
  std::int64_t bands = 0;
  double low = 0;
  double high = 0;
  std::int64_t fft = 0;  // length of the transform

  std::int64_t frames() const { return (length - window) / hop + 1; }
};

/// How rows of a table, sounds or recordings become samples: kept with a data set, and applied to new ones.
struct Preparation {
  bool has_names = true;                // false: the columns are called 1, 2, ...
  std::vector<SampleFeature> features;  // in the order of a sample's values
  /// One column per output, in the order of the outputs and with one transform for all; a single column for
  /// classes.
  std::vector<TargetColumn> targets;
  std::vector<std::string> left_out;  // columns that are neither
  std::string id;                     // column with the samples' names; empty if there is none
  /// For samples that are made from sounds or recordings: how, as JSON that `skyline.prep` alone applies.
  /// Then there are no features. Empty for tables.
  std::string signal;
  std::optional<LogMel> log_mel = {};  // set where sounds become spectrograms

  bool of_sounds() const { return signal.starts_with(R"({"sound")"); }
  /// Returns whether samples with so many values can have been made so.
  bool makes(std::int64_t values) const { return !signal.empty() || std::ssize(features) == values; }
};

/// Reads a preparation (docs/internals/files.md). @throws UserError for any other text
Preparation read_preparation(const std::string& json);

}  // namespace skyline::store

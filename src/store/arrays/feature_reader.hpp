#pragma once

#include "core/text/foreign_text.hpp"
#include "store/arrays/preparation.hpp"
#include "store/arrays/table_columns.hpp"
#include "store/arrays/table_survey.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::store {

/// Reads features from the fields of a row.
class FeatureReader {
 public:
  /// @param places  column of each feature
  FeatureReader(std::vector<Feature> features, std::vector<std::size_t> places)
      : features_(std::move(features)), places_(std::move(places)) {}
  std::size_t size() const { return features_.size(); }
  const std::vector<Feature>& features() const { return features_; }
  /// @throws UserError for a field that is no number where one is needed
  double value(std::size_t i, const CsvReader& reader, const TableColumns& columns) const;
  /// Returns whether all features are numbers as they are written.
  bool are_plain() const {
    return std::ranges::all_of(features_,
                               [](const Feature& each) { return each == Feature{.column = each.column}; });
  }

 private:
  std::vector<Feature> features_;
  std::vector<std::size_t> places_;
};

inline double FeatureReader::value(std::size_t i, const CsvReader& reader,
                                   const TableColumns& columns) const {
  const Feature& feature = features_[i];
  const std::string& field = reader.fields()[places_[i]];
  if (feature.is) return field == *feature.is ? 1 : 0;
  if (feature.is_word()) return std::ranges::find(feature.is_not, field) == feature.is_not.end() ? 1 : 0;
  const std::optional<double> value = feature_in(reader, field);
  if (feature.is_missing) return value ? 0 : 1;
  if (!value && !(feature.missing && is_missing_word(field))) {
    reader.fail(columns.label(places_[i]) + ": expected a number, got `" + printable(field.substr(0, 40)) +
                "`" + (is_missing_word(field) ? ": a missing value, where the training data have none" : ""));
  }
  const double number = value.value_or(feature.missing.value_or(0)) - feature.subtract;
  if (!std::isfinite(static_cast<float>(number)))
    reader.fail(columns.label(places_[i]) + ": too large for float32: " + field.substr(0, 40));
  return number;
}

}  // namespace skyline::store

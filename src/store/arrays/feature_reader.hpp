#pragma once

#include "store/arrays/preparation.hpp"
#include "store/arrays/table_columns.hpp"

#include <algorithm>
#include <cstddef>
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

}  // namespace skyline::store

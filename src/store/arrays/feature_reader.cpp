#include "store/arrays/feature_reader.hpp"

#include "core/text/foreign_text.hpp"
#include "store/arrays/table_survey.hpp"

#include <cmath>
#include <optional>
#include <string>

namespace skyline::store {

double FeatureReader::value(std::size_t i, const CsvReader& reader, const TableColumns& columns) const {
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

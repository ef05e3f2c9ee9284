#include "evaluate/table/benchmark_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skyline::evaluate {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Adds one architecture's rows to the spread of a column. NaN is no value.
void add_to(BenchmarkTable::Spread& spread, const std::vector<double>& values, double mean) {
  std::size_t count = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    ++count;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (count < 2) return;
  spread.rows += count;
  for (const double value : values) {
    if (!std::isnan(value)) spread.deviation += (value - mean) * (value - mean);
  }
  spread.largest = std::max(spread.largest, high - low);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kNan : sum / static_cast<double>(count);
}

}  // namespace

BenchmarkTable::BenchmarkTable(const BenchmarkRows& rows,
                               const std::vector<std::optional<space::ArchId>>& ids, RowChoice choice)
    : columns_(rows.columns.size()), spreads_(columns_) {
  std::vector<std::vector<std::size_t>> rows_of;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!ids[row]) continue;
    const auto [place, is_new] = places_.emplace(static_cast<std::uint64_t>(*ids[row]), rows_of.size());
    if (is_new) rows_of.emplace_back();
    rows_of[place->second].push_back(row);
  }
  for (const std::vector<std::size_t>& members : rows_of) {
    for (std::size_t column = 0; column < columns_; ++column) {
      std::vector<double> values;
      for (const std::size_t row : members) values.push_back(rows.values[row * columns_ + column]);
      const double mean = mean_of(values);
      values_.push_back(choice == RowChoice::kMean ? mean : values.front());
      add_to(spreads_[column], values, mean);
    }
  }
  for (Spread& spread : spreads_) {
    if (spread.rows > 0) spread.deviation = std::sqrt(spread.deviation / static_cast<double>(spread.rows));
  }
}

const double* BenchmarkTable::find(space::ArchId id) const {
  const auto found = places_.find(static_cast<std::uint64_t>(id));
  return found == places_.end() ? nullptr : values_.data() + found->second * columns_;
}

}  // namespace skyline::evaluate

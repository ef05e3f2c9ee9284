#pragma once

#include "store/hdf5/hdf5_image.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::store {

/// A table that is filled row by row; each row has the same cells in the same order. Written as an HDF5
/// compound, one element per row. Text columns get the length of their longest value in bytes, flags the type
/// that h5py reads as bool.
class Table {
 public:
  using Column = std::variant<std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>,
                              std::vector<bool>, std::vector<std::string>>;

  /// Adds a cell. The first row makes the columns. @pre `name` is new in its row
  void operator()(std::string_view name, bool value) { add<bool>(name, value); }
  void operator()(std::string_view name, std::signed_integral auto value) { add<std::int64_t>(name, value); }
  void operator()(std::string_view name, std::uint32_t value) { add<std::int64_t>(name, value); }
  void operator()(std::string_view name, std::uint64_t value) { add<std::uint64_t>(name, value); }
  void operator()(std::string_view name, double value) { add<double>(name, value); }
  void operator()(std::string_view name, const std::string& text) { add<std::string>(name, text); }

  void end_row();
  /// For a table that may have no rows: the first one only made the columns.
  void drop_first_row();
  std::vector<std::string> names() const;
  void write(Hdf5Image& image, const std::string& name) const;

 private:
  template <typename T>
  void add(std::string_view name, T value) {
    if (next_ == columns_.size()) columns_.push_back({std::string(name), std::vector<T>()});
    std::get<std::vector<T>>(columns_[next_++].values).push_back(std::move(value));
  }

  struct NamedColumn {
    std::string name;
    Column values;
  };
  std::vector<NamedColumn> columns_;
  std::size_t next_ = 0;  // the column of the next cell
  std::size_t num_rows_ = 0;
};

}  // namespace skyline::store

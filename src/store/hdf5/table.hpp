#pragma once

#include "store/hdf5/hdf5_image.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// A table that is filled row by row; each row has the same cells in the same order. It is written as an HDF5
/// compound, with one element per row. A text column gets the length of its longest value in bytes. Flags get
/// the type that h5py reads as bool.
class Table {
 public:
  /// Adds rows. It is called twice and must do the same both times: the first call measures the texts, so
  /// that only the bytes of the file are held in memory.
  using Rows = std::function<void(Table& rows)>;

  /// @param columns  adds one row, from which the columns are made
  static void write(Hdf5Image& image, const std::string& name, const Rows& columns, const Rows& rows);
  static std::vector<std::string> names(const Rows& columns);

  /// Adds a cell. @pre `name` is new in its row
  void operator()(std::string_view name, bool value) { add(name, std::uint8_t{value}, Kind::kFlag); }
  void operator()(std::string_view name, std::signed_integral auto value) {
    add(name, static_cast<std::int64_t>(value), Kind::kInteger);
  }
  void operator()(std::string_view name, std::uint32_t value) { operator()(name, std::int64_t{value}); }
  void operator()(std::string_view name, std::uint64_t value) { add(name, value, Kind::kNatural); }
  void operator()(std::string_view name, double value) { add(name, value, Kind::kNumber); }
  void operator()(std::string_view name, const std::string& text);
  void end_row();

 private:
  enum class Step { kColumns, kMeasure, kFill };
  enum class Kind { kFlag, kInteger, kNatural, kNumber, kText };
  struct Column {
    std::string name;
    Kind kind;
    std::size_t longest = 1;  // longest text, for a text column
    std::size_t offset = 0;   // place in a row
  };

  Table() = default;
  void add(std::string_view name, const auto& value, Kind kind) {
    if (Column& column = next_column(name, kind); step_ == Step::kFill) put(column, &value, sizeof value);
  }
  Column& next_column(std::string_view name, Kind kind);
  void put(const Column& column, const void* bytes, std::size_t count);
  Hdf5Type make_row_type(const std::filesystem::path& path);

  std::vector<Column> columns_;
  Step step_ = Step::kColumns;
  std::size_t next_ = 0;  // the column of the next cell
  std::size_t num_rows_ = 0;
  std::size_t row_bytes_ = 0;
  std::string block_;  // bytes of all rows
};

}  // namespace skyline::store

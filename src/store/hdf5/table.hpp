#pragma once

#include "store/hdf5/hdf5_image.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace skyline::store {

/// A table in memory, by columns; written as an HDF5 compound, one element per row. Text columns get the
/// length of their longest value in bytes, flags the type that h5py reads as bool.
class Table {
 public:
  using Column = std::variant<std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>,
                              std::vector<bool>, std::vector<std::string>>;

  explicit Table(std::size_t num_rows) : num_rows_(num_rows) {}
  /// Adds a column. @pre it has the table's number of rows, and its name is new
  void add(const std::string& name, Column column);
  void write(Hdf5Image& image, const std::string& name) const;

 private:
  struct NamedColumn {
    std::string name;
    Column values;
  };
  std::size_t num_rows_;
  std::vector<NamedColumn> columns_;
};

}  // namespace skyline::store

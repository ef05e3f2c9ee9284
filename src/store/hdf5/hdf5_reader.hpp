#pragma once

#include "store/hdf5/hdf5_handle.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// Opens a file without file locks, which some file systems do not have. @throws UserError
/// @param access  H5F_ACC_RDONLY or H5F_ACC_RDWR
Hdf5File open_hdf5_file(const std::filesystem::path& path, unsigned access = H5F_ACC_RDONLY);

/// Reads from an HDF5 file. Every error names the path. @throws UserError
class Hdf5Reader {
 public:
  /// Opens a file as open_hdf5_file does.
  /// @param descriptor  is open on the file whose checksums the caller knows
  /// @throws UserError if the name no longer leads to that file
  Hdf5Reader(const std::filesystem::path& path, int descriptor);
  /// Opens the bytes of an HDF5 file, of which it keeps a copy.
  Hdf5Reader(std::span<const std::byte> bytes, const std::filesystem::path& path);

  /// Read attributes of the root.
  bool has_attribute(const char* key) const { return check(H5Aexists(file_.get(), key)) > 0; }
  std::string text_attribute(const char* key) const;
  /// Reads a number: std::int64_t, std::uint64_t or double.
  template <typename Number>
  Number number_attribute(const char* key) const {
    return scalar_attribute<Number>(key, native_type<Number>());
  }
  /// Checks the attribute `version`. @throws UserError unless it is `expected`
  /// @param kind  word for such a file in messages: "data set"
  void check_version(std::string_view kind, std::int64_t expected, std::string_view advice = {}) const;

  /// Returns whether there is a group or an array of this name. @pre its group exists
  bool has(const std::string& name) const;
  std::vector<std::int64_t> array_dims(const std::string& name) const;
  bool has_type(const std::string& name, hid_t type) const;
  /// Returns the offset of the array's bytes in the file.
  /// @throws UserError unless it is stored in one piece as `type`
  std::uint64_t array_offset(const std::string& name, hid_t type) const;
  /// Reads all numbers of an array, whatever its shape.
  std::vector<double> numbers(const std::string& name) const;
  std::vector<float> floats(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  bool has_column(const std::string& table, const std::string& column) const;
  /// Reads a column of a table (Table::write). @throws UserError if the table or the column does not exist
  std::vector<double> numbers(const std::string& table, const std::string& column) const;
  std::vector<std::string> texts(const std::string& table, const std::string& column) const;

 private:
  template <typename T>
  T check(T result) const {
    return check_hdf5(result, "read", path_);
  }
  [[noreturn]] void fail(const std::string& message) const;
  Hdf5Dataset open_array(const std::string& name) const;
  Hdf5Attribute open_attribute(const char* key) const;
  Hdf5Type column_type(const std::string& table, const std::string& column) const;
  Hdf5Type row_of(const std::string& column, hid_t type) const;
  std::vector<std::string> read_texts(const std::string& name, hid_t type, std::size_t length) const;
  std::size_t element_count(const Hdf5Dataset& array, const std::string& name) const;
  template <typename T>
  T scalar_attribute(const char* key, hid_t type) const;
  template <typename T>
  std::vector<T> read_array(const std::string& name, hid_t type) const;

  std::filesystem::path path_;
  std::size_t file_bytes_ = 0;
  Hdf5File file_;
};

template <typename T>
T Hdf5Reader::scalar_attribute(const char* key, hid_t type) const {
  const Hdf5Attribute attribute = open_attribute(key);
  const Hdf5Space space(check(H5Aget_space(attribute.get())));
  if (check(H5Sget_simple_extent_npoints(space.get())) != 1) {
    fail(std::string("attribute `") + key + "`: expected one value");
  }
  T value{};
  check(H5Aread(attribute.get(), type, &value));
  return value;
}

}  // namespace skyline::store

#pragma once

#include "store/hdf5/hdf5_handle.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Adds to an HDF5 file in place. What it had stays where it is. The same calls on the same file give the
/// same bytes.
class Hdf5Editor {
 public:
  /// @throws UserError if the library cannot open it
  explicit Hdf5Editor(const std::filesystem::path& path);
  /// Adds an array of one dimension. @throws UserError
  void add_numbers(const std::string& name, const std::vector<double>& numbers);
  /// Adds an attribute to an object. @throws UserError
  void add_attribute(const std::string& name, const char* key, std::string_view text);
  /// Writes everything to the file. Call once, at the end. @throws UserError
  void close();

 private:
  template <typename T>
  T check(T result) const {
    return check_hdf5(result, "write", path_);
  }

  std::filesystem::path path_;
  Hdf5File file_;
};

}  // namespace skyline::store

#pragma once

#include "store/hdf5_handle.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Builds an HDF5 file in memory, so that nothing of it shows in the file system before it is whole. The same
/// calls give the same bytes (no times are recorded).
class Hdf5Image {
 public:
  /// @param path        for messages
  /// @param user_block  bytes that will stand in front of the HDF5 part of the file; 0, or a power of 2 from
  /// 512
  explicit Hdf5Image(const std::filesystem::path& path, std::size_t user_block = 0);

  void make_group(const std::string& name);
  /// A contiguous array; `data` holds all of it, in the machine's order. Parent groups must exist.
  void write_array(const std::string& name, hid_t type, std::span<const hsize_t> dims, const void* data);
  void write_texts(const std::string& name, const std::vector<std::string>& texts);
  /// Attributes of the object `name` ("/" is the root).
  void write_attribute(const std::string& name, const char* key, std::string_view text);
  void write_attribute(const std::string& name, const char* key, hid_t type, const void* value);
  /// Where the array's bytes will stand in the file, counted from the start of the user block.
  std::uint64_t array_offset(const std::string& name) const;
  /// The file's bytes; the user block is there, filled with zeros.
  std::string finish();

  const std::filesystem::path& path() const { return path_; }

 private:
  template <typename T>
  T check(T result) const {
    return check_hdf5(result, "write", path_);
  }

  std::filesystem::path path_;
  std::size_t user_block_;
  Hdf5File file_;
};

/// A name for an image; the library takes two open images of one name for the same file.
std::string image_name();

/// UTF-8 text of a fixed length in bytes, padded with zeros; at least 1.
Hdf5Type make_text_type(std::size_t length, const std::filesystem::path& path);

}  // namespace skyline::store

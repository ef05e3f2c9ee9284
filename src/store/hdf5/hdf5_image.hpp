#pragma once

#include "store/hdf5/hdf5_handle.hpp"
#include "store/publish/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace skyline::store {

/// Adds an attribute to an object of a file that is open for writing: UTF-8 text, or one value of a type.
void add_hdf5_attribute(const Hdf5File& file, const std::string& name, const char* key, std::string_view text,
                        const std::filesystem::path& path);
void add_hdf5_attribute(const Hdf5File& file, const std::string& name, const char* key, hid_t type,
                        const void* value, const std::filesystem::path& path);

/// Builds an HDF5 file in memory, so that it appears in the file system only when it is whole. The same calls
/// give the same bytes, because no times are recorded. Only the structure is built here: the bytes of large
/// arrays stay with the caller.
class Hdf5Image {
 public:
  struct Options {
    /// Bytes before the HDF5 part of the file: 0, or a power of 2 from 512.
    std::size_t user_block = 0;
    /// Expected number of groups and arrays. With many more the library keeps a second copy in memory.
    std::size_t num_objects = 8;
  };

  /// @param path  name for messages
  Hdf5Image(const std::filesystem::path& path, const Options& options);
  ~Hdf5Image();
  Hdf5Image(const Hdf5Image&) = delete;
  Hdf5Image& operator=(const Hdf5Image&) = delete;

  void make_group(const std::string& name);
  /// Writes a contiguous array in the machine's byte order, and copies `bytes`. Parent groups must exist.
  void write_array(const std::string& name, hid_t type, std::span<const hsize_t> dims, std::string bytes);
  /// Writes an array without a copy: `bytes` must stay unchanged in place until the pieces have been used.
  void refer_array(const std::string& name, hid_t type, std::span<const hsize_t> dims,
                   std::span<const std::byte> bytes);
  /// Reserves room for an array whose bytes the caller writes into the file, at array_offset(name). Its piece
  /// has no data. Returns the size of the array in bytes.
  std::size_t place_array(const std::string& name, hid_t type, std::span<const hsize_t> dims);
  void write_texts(const std::string& name, const std::vector<std::string>& texts);
  /// Writes attributes of the object `name` ("/" is the root).
  void write_attribute(const std::string& name, const char* key, std::string_view text) {
    add_hdf5_attribute(file_, name, key, text, path_);
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void write_attribute(const std::string& name, const char* key, Number value) {
    add_hdf5_attribute(file_, name, key, native_type<Number>(), &value, path_);
  }
  /// Returns the position of the array's bytes in the file, from the start of the user block.
  std::uint64_t array_offset(const std::string& name) const;
  /// Ends the image and returns its bytes, with a user block of zeros. The pieces are valid as long as this
  /// object and the bytes to which it refers.
  FilePieces finish();

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Array {
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };
  struct Memory;

  template <typename T>
  T check(T result) const {
    return check_hdf5(result, "write", path_);
  }
  FilePieces collect_pieces(std::uint64_t file_bytes);

  std::filesystem::path path_;
  std::unique_ptr<Memory> memory_;  // the part of the file that the library makes: all except the arrays
  Hdf5File file_;
  Hdf5PropertyList group_creation_;
  Hdf5PropertyList array_creation_;
  std::vector<Array> arrays_;
  std::deque<std::string> copies_;
};

/// Returns a unique name, because the library takes two open images of one name for the same file.
std::string image_name();

/// Makes the type of UTF-8 text of a fixed length in bytes (at least 1), padded with zeros.
Hdf5Type make_text_type(std::size_t length, const std::filesystem::path& path);

}  // namespace skyline::store

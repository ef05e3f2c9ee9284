#pragma once

#include "store/hdf5/hdf5_handle.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::store {

constexpr std::size_t kMostChunkBytes = std::size_t{1} << 30;

/// Compares what a file says of an array with the bytes that it stores. The HDF5 library does not: where they
/// differ, as in a damaged file, it takes values from memory that nobody has written.
class StoredArray {
 public:
  /// Checks the size of the chunks, or of an array that lies in one piece. @throws UserError, without the
  /// file's name
  /// @param array  must outlive this object
  StoredArray(const Hdf5Dataset& array, const std::filesystem::path& path);

  /// Checks the chunks that hold these rows. Each is looked up once if rows are checked in order.
  /// Returns the first row of which values were never written.
  /// @throws UserError, without the file's name, unless the chunks hold as many bytes as they should
  std::optional<hsize_t> check_rows(hsize_t first, hsize_t count);
  /// Returns the bytes of the first value of each row as they are stored.
  /// @throws UserError, without the file's name, if they are packed in a way that only the library knows
  std::string first_of_rows();

 private:
  struct Filter {
    H5Z_filter_t kind;
    std::size_t value_bytes;  // of a filter that sorts the bytes of values
  };

  bool check_chunk(const std::vector<hsize_t>& place);
  /// Returns the bytes of a chunk, or zeros if it was never written.
  std::string read_chunk(const std::vector<hsize_t>& place) const;
  std::string unpack(std::string bytes, unsigned left_out) const;
  std::string read_piece() const;

  const Hdf5Dataset& array_;
  const std::filesystem::path& path_;
  std::vector<hsize_t> dims_;
  std::vector<hsize_t> chunk_;  // empty if the array lies in one piece
  std::vector<Filter> filters_;
  bool unpacks_here_ = true;
  bool has_unpacked_ = false;
  bool is_written_ = true;
  std::size_t value_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  hsize_t checked_rows_ = 0;
};

/// Reads all texts of an array, of variable length. The HDF5 library is not asked: on a damaged file it ends
/// nowhere, or takes texts from other memory.
/// @throws UserError, without the file's name
std::vector<std::string> read_variable_texts(const Hdf5Dataset& array, const std::filesystem::path& path);

}  // namespace skyline::store

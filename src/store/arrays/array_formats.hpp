#pragma once

#include "store/arrays/source_array.hpp"

#include <cstdio>
#include <optional>

#include <zlib.h>

namespace skyline::store {

/// Reads a plain or gzip file from its start to its end.
class PlainOrGzipStream final : public ArrayStream {
 public:
  /// Opens the file. @throws UserError, FaultError
  explicit PlainOrGzipStream(const std::filesystem::path& path);
  ~PlainOrGzipStream() override { gzclose_r(file_); }
  PlainOrGzipStream(const PlainOrGzipStream&) = delete;
  PlainOrGzipStream& operator=(const PlainOrGzipStream&) = delete;

  void read(std::span<std::byte> bytes) override;
  /// Returns up to `most` bytes, fewer only at the end of the file.
  std::string read_some(std::size_t most);

 private:
  std::size_t read_at_most(std::span<std::byte> bytes);

  std::filesystem::path path_;
  gzFile file_ = nullptr;
};

/// The way in which words of a fixed length are stored.
struct WordType {
  std::size_t letters = 0;       // of a word; shorter ones are filled with zeros
  std::size_t letter_bytes = 1;  // 1 for UTF-8; 2 or 4 for code points
  bool big_endian = false;
};

struct ArrayHeader {
  ElementType type;
  std::vector<std::int64_t> dims;
  bool by_columns = false;  // the first dimension varies fastest, as in Fortran
  std::optional<WordType> words = {};

  std::size_t element_bytes() const { return words ? words->letters * words->letter_bytes : type.bytes; }
};
/// Gives an array of a file the type and dimensions of its header. Words are read at once.
/// @param array        already opens the stream that begins with the header's first value
/// @throws UserError, without the file's name
void take_header(SourceArray& array, const ArrayHeader& header);
/// Makes an array one of words, one for each row.
/// @throws UserError, without the file's name, unless they are UTF-8
void take_words(SourceArray& array, const std::vector<std::string>& words);
/// Returns a stream of rows of an array whose stream has its first dimension vary fastest. It keeps the whole
/// array in memory. @throws UserError if it is too large for that
std::unique_ptr<ArrayStream> stream_by_rows(std::unique_ptr<ArrayStream> by_columns,
                                            const SourceArray& array);
/// Reads the header of an npy file (versions 1 to 3) from a stream. Nothing in it is evaluated as code.
/// @throws UserError, without the file's name
ArrayHeader read_npy_header(ArrayStream& stream);
/// Reads the header of an IDX file. @throws UserError, without the file's name
ArrayHeader read_idx_header(ArrayStream& stream);
/// Checks that there are 1 to 4 dimensions above 0 with a bounded product. @throws UserError
void check_dims(const std::vector<std::int64_t>& dims);

std::vector<SourceArray> list_npz(const std::filesystem::path& file);
std::vector<SourceArray> list_hdf5(const std::filesystem::path& file);
/// Returns the arrays "x" and "y" of a table, or only "x" if no column has targets, and "group" if a column
/// has groups; each with the name of the part behind it, e.g. "x_train".
std::vector<SourceArray> list_csv(const std::filesystem::path& file, const TableOptions& options);

}  // namespace skyline::store

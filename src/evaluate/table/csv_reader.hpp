#pragma once

#include "skyline/core/error.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace skyline::evaluate {

/// Reads a plain or gzip file from its start to its end.
class GzipStream {
 public:
  /// Opens the file. @throws UserError, FaultError
  explicit GzipStream(const std::filesystem::path& path);
  ~GzipStream() { gzclose_r(file_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  /// Returns up to `most` bytes, fewer only at the end of the file. @throws UserError if it is damaged
  std::string read_some(std::size_t most);

 private:
  std::filesystem::path path_;
  gzFile file_ = nullptr;
};

/// Returns the text without blanks at its ends.
std::string_view without_outer_blanks(std::string_view field);

/// Reads a table in CSV row by row: commas, semicolons, tabs, vertical bars or blanks between fields; fields
/// in quotes, which may have separators and line ends in them; LF, CR LF or CR; UTF-8 or UTF-16; a first line
/// `sep=;`; decimal commas; a separator at the end of every row. Empty lines do not count, up to 16 MiB of
/// them in one place.
class CsvReader {
 public:
  /// Opens a file, and finds its separators from its beginning. @throws UserError, FaultError
  explicit CsvReader(const std::filesystem::path& path);

  /// Reads the next row. Returns false at the end of the file. @throws UserError
  bool read_row();
  const std::vector<std::string>& fields() const { return fields_; }
  /// Returns the fields as names of columns: without blanks at their ends.
  std::vector<std::string> names() const;
  /// Reads a finite or infinite number, with the file's decimal sign. Blanks around it, which a field in
  /// quotes may have, do not count.
  std::optional<double> number(std::string_view field) const;
  /// Returns e.g. "set.csv:12: ".
  std::string place() const { return path_.string() + ":" + std::to_string(line_) + ": "; }
  std::size_t line() const { return line_; }
  [[noreturn]] void fail(const std::string& message) const { throw UserError(place() + message); }

 private:
  /// How far the next row of the buffer reaches; `end` is past its line end.
  struct Extent {
    std::size_t length = 0;
    std::size_t end = 0;
    std::size_t lines = 0;
  };
  std::optional<Extent> find_row(std::size_t begin, char separator) const;
  std::optional<Extent> next_row(char separator);
  void fill();
  void find_dialect();
  std::vector<std::vector<std::string>> first_rows(char separator) const;
  void find_decimals(const std::vector<std::vector<std::string>>& rows);

  std::filesystem::path path_;
  GzipStream stream_;
  enum class Encoding { kUnknown, kUtf8, kUtf16Le, kUtf16Be } encoding_ = Encoding::kUnknown;
  std::string undecoded_;  // bytes of UTF-16 that are not yet in text_
  std::string text_;       // text that was not read yet begins at begin_
  std::size_t begin_ = 0;
  bool ended_ = false;    // the stream has no more bytes
  std::size_t line_ = 0;  // line of the last row, from 1
  std::size_t next_line_ = 1;
  char separator_ = ',';
  bool decimal_comma_ = false;
  bool trailing_ = false;  // every row ends with a separator
  std::size_t columns_ = 0;
  std::vector<std::string> fields_;
};

}  // namespace skyline::evaluate

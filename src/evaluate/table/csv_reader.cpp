#include "evaluate/table/csv_reader.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <utility>

#include <sys/stat.h>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kMostRowBytes = std::size_t{1} << 24;
constexpr std::size_t kMostColumns = std::size_t{1} << 20;
constexpr std::size_t kFilledBytes = std::size_t{1} << 18;

bool is_line_end(char letter) {
  return letter == '\n' || letter == '\r';
}

void add_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::array<std::uint32_t, 4> kFirst{0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kFirst.at(static_cast<std::size_t>(more)) | code >> 6 * more);
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80U | (code >> 6 * i & 0x3fU));
}

/// Decodes as much UTF-16 as is whole, and removes it from `bytes`.
std::string decode_utf16(std::string& bytes, bool big_endian) {
  const auto unit = [&](std::size_t place) {
    const auto first = static_cast<unsigned char>(bytes[place + (big_endian ? 0 : 1)]);
    const auto second = static_cast<unsigned char>(bytes[place + (big_endian ? 1 : 0)]);
    return static_cast<std::uint32_t>(first << 8U | second);
  };
  std::string text;
  std::size_t place = 0;
  for (; place + 1 < bytes.size(); place += 2) {
    const std::uint32_t code = unit(place);
    if (code == 0xfeff) continue;  // the byte-order mark
    if (code < 0xd800 || code > 0xdbff) {
      add_utf8(text, code);
      continue;
    }
    if (place + 3 >= bytes.size()) break;
    add_utf8(text, 0x10000 + ((code - 0xd800) << 10U) + ((unit(place + 2) - 0xdc00) & 0x3ffU));
    place += 2;
  }
  bytes.erase(0, place);
  return text;
}

bool has_decimal(std::string_view field, char sign) {
  if (!field.empty() && (field.front() == '-' || field.front() == '+')) field.remove_prefix(1);
  const std::size_t place = field.find(sign);
  const auto is_digits = [](std::string_view digits) {
    return digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return place != std::string_view::npos && place + 1 < field.size() && is_digits(field.substr(0, place)) &&
         is_digits(field.substr(place + 1));
}

/// Returns whether a number with a comma may be one with a separator of thousands: "1,234".
bool may_be_thousands(std::string_view field) {
  const std::size_t comma = field.find(',');
  return field.size() - comma == 4 && comma > 0 && field.find_first_of("123456789") < comma;
}

/// Returns whether a file begins as UTF-16 does, with a byte-order mark or without one.
bool is_utf16(std::string_view start) {
  using namespace std::literals;
  if (start.starts_with("\xff\xfe"sv) || start.starts_with("\xfe\xff"sv)) return true;
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(start.size(), 64); i += 2) {
    const bool is_ascii = start[i] >= ' ' || is_line_end(start[i]) || start[i] == '\t';
    if (!is_ascii || start[i + 1] != '\0') return false;
  }
  return start.size() >= 4;
}

/// Splits a row at a separator, where it is not quoted, and removes blanks around the fields. Blanks in
/// quotes stay.
/// @param row  one row, without its line end
std::vector<std::string> split_csv(std::string_view row, char separator) {
  std::vector<std::string> fields;
  std::string field;
  std::optional<std::size_t> kept;  // bytes from the field's start to its last quote
  bool quoted = false;              // inside quotes
  bool blank = true;                // the field has only blanks so far
  const auto end_field = [&] {
    field.resize(std::max(kept.value_or(0), field.find_last_not_of(' ') + 1));
    if (!kept) field.erase(0, std::min(field.find_first_not_of(' '), field.size()));
    fields.push_back(std::exchange(field, {}));
    kept.reset();
    blank = true;
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    const char letter = row[i];
    if (quoted && letter == '"' && row.substr(i, 2) == "\"\"") {  // two quotes mean one
      field += row[i++];
    } else if (letter == '"' && (quoted || blank)) {
      if (!quoted) field.clear();
      kept = field.size();
      quoted = !quoted;
      blank = false;
    } else if (letter == separator && !quoted) {
      if (separator == ' ' && blank) continue;
      end_field();
    } else {
      blank = blank && letter == ' ';
      field += letter;
    }
  }
  if (separator != ' ' || !blank || fields.empty()) end_field();
  return fields;
}

}  // namespace

std::string_view without_outer_blanks(std::string_view field) {
  const std::size_t first = std::min(field.find_first_not_of(' '), field.size());
  return field.substr(first, field.find_last_not_of(' ') + 1 - first);
}

CsvReader::CsvReader(const std::filesystem::path& path) : path_(path), stream_(path) {
  fill();
  find_dialect();
}

void CsvReader::fill() {
  text_.erase(0, begin_);
  begin_ = 0;
  std::string more = stream_.read_some(kFilledBytes);
  ended_ = more.empty();
  if (encoding_ == Encoding::kUnknown) {
    encoding_ = !is_utf16(more)            ? Encoding::kUtf8
                : more.starts_with('\xfe') ? Encoding::kUtf16Be
                                           : Encoding::kUtf16Le;
    if (more.starts_with("\xef\xbb\xbf")) more.erase(0, 3);  // skips a byte-order mark
  }
  if (encoding_ == Encoding::kUtf8) {
    text_ += more;
    return;
  }
  undecoded_ += more;
  text_ += decode_utf16(undecoded_, encoding_ == Encoding::kUtf16Be);
}

/// Returns nullopt if the text in memory ends before the row does.
std::optional<CsvReader::Extent> CsvReader::find_row(std::size_t begin, char separator) const {
  bool quoted = false;
  bool blank = true;
  Extent extent{.lines = 1};
  std::size_t columns = 1;
  for (std::size_t i = begin; i < text_.size(); ++i) {
    const char letter = text_[i];
    if (quoted && letter == '"') {
      if (i + 1 == text_.size() && !ended_) return std::nullopt;
      const bool pair = i + 1 < text_.size() && text_[i + 1] == '"';  // two quotes mean one
      quoted = pair;
      if (pair) ++i;
    } else if (letter == '"' && blank) {
      quoted = true;
      blank = false;
    } else if (is_line_end(letter)) {
      const bool pair = letter == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n';
      if (letter == '\r' && i + 1 == text_.size() && !ended_) return std::nullopt;
      if (!quoted) {
        extent.length = i - begin;
        extent.end = i + (pair ? 2 : 1);
        return extent;
      }
      ++extent.lines;
      if (pair) ++i;
    } else if (letter == separator && !quoted) {
      if (separator == ' ' && blank) continue;
      blank = true;
      if (++columns > kMostColumns)
        throw UserError(path_.string() + ":" + std::to_string(next_line_) + ": more than " +
                        std::to_string(kMostColumns) + " columns");
    } else {
      blank = blank && letter == ' ';
    }
  }
  if (!ended_) return std::nullopt;
  if (quoted) {
    throw UserError(path_.string() + ":" + std::to_string(next_line_) +
                    ": a quote that begins in this row never ends");
  }
  extent.length = text_.size() - begin;
  extent.end = text_.size();
  return extent;
}

/// Returns nullopt at the end of the file.
std::optional<CsvReader::Extent> CsvReader::next_row(char separator) {
  for (;;) {
    if (ended_ && begin_ == text_.size()) return std::nullopt;
    if (const auto extent = find_row(begin_, separator)) return extent;
    if (text_.size() - begin_ > kMostRowBytes)
      throw UserError(path_.string() + ":" + std::to_string(next_line_) + ": a line of more than " +
                      std::to_string(kMostRowBytes) + " bytes");
    fill();
  }
}

bool CsvReader::read_row() {
  std::size_t empty_bytes = 0;
  while (const auto extent = next_row(separator_)) {
    const std::string_view row = std::string_view(text_).substr(begin_, extent->length);
    line_ = next_line_;
    next_line_ += extent->lines;
    const std::size_t bytes = extent->end - std::exchange(begin_, extent->end);
    if (row.find_first_not_of(" \t") == std::string_view::npos) {
      empty_bytes += bytes;  // a packed file of some kilobytes may have gigabytes of them
      if (empty_bytes > kMostRowBytes)
        fail("more than " + std::to_string(kMostRowBytes) + " bytes of empty lines");
      continue;
    }
    fields_ = split_csv(row, separator_);
    if (columns_ == 0) columns_ = fields_.size() - (trailing_ && fields_.back().empty() ? 1 : 0);
    if (trailing_ && fields_.size() == columns_ + 1 && fields_.back().empty()) fields_.pop_back();
    return true;
  }
  return false;
}

/// Returns rows that lie whole in the text that was read first. Quotes are as the separator makes them.
std::vector<std::vector<std::string>> CsvReader::first_rows(char separator) const {
  constexpr std::size_t kRowsLookedAt = 100;
  std::vector<std::vector<std::string>> rows;
  std::size_t begin = begin_;
  try {
    while (rows.size() < kRowsLookedAt && begin < text_.size()) {
      const auto extent = find_row(begin, separator);
      if (!extent) break;
      const std::string_view row = std::string_view(text_).substr(begin, extent->length);
      if (row.find_first_not_of(" \t") != std::string_view::npos) rows.push_back(split_csv(row, separator));
      begin = extent->end;
    }
  } catch (const UserError&) {  // is reported when the row is read
  }
  return rows;
}

/// Takes the separator that gives all rows the same number of fields. A semicolon comes before a comma, which
/// may be a decimal sign.
void CsvReader::find_dialect() {
  if (text_.starts_with("sep=") && text_.size() > 4 && !is_line_end(text_[4])) {
    separator_ = text_[4];
    begin_ = std::min(text_.find_first_of("\r\n"), text_.size());
    if (text_.compare(begin_, 2, "\r\n") == 0) ++begin_;
    begin_ = std::min(begin_ + 1, text_.size());
    next_line_ = 2;
    return find_decimals(first_rows(separator_));
  }
  const auto fits = [this](char separator) {
    const auto rows = first_rows(separator);
    const std::size_t fields = rows.empty() ? 0 : rows.front().size();
    return fields > 1 && std::ranges::all_of(rows, [fields](const std::vector<std::string>& row) {
             return row.size() == fields || (row.size() == fields + 1 && row.back().empty());
           });
  };
  const auto occurs = [this](char separator) {
    const auto rows = first_rows(separator);
    return !rows.empty() && rows.front().size() > 1;
  };
  constexpr std::array kSeparators{'\t', ';', ',', '|', ' '};
  auto found = std::ranges::find_if(kSeparators, fits);
  if (found == kSeparators.end()) found = std::ranges::find_if(kSeparators, occurs);
  if (found != kSeparators.end()) separator_ = *found;
  find_decimals(first_rows(separator_));
}

void CsvReader::find_decimals(const std::vector<std::vector<std::string>>& rows) {
  bool points = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& whole : rows[i]) {
      const std::string_view field = without_outer_blanks(whole);
      points = points || has_decimal(field, '.');
      decimal_comma_ = decimal_comma_ || (has_decimal(field, ',') && !may_be_thousands(field));
    }
  }
  decimal_comma_ = decimal_comma_ && !points;
  const auto ends_empty = [](const std::vector<std::string>& row) {
    return row.size() > 2 && row.back().empty();
  };
  trailing_ = rows.size() > 1 && separator_ != ' ' &&
              std::ranges::all_of(rows.begin() + 1, rows.end(), ends_empty) &&
              (ends_empty(rows.front()) || rows[1].size() == rows.front().size() + 1);
}

std::vector<std::string> CsvReader::names() const {
  std::vector<std::string> names;
  for (const std::string& field : fields_) names.emplace_back(without_outer_blanks(field));
  return names;
}

std::optional<double> CsvReader::number(std::string_view field) const {
  field = without_outer_blanks(field);
  std::string with_point;
  if (decimal_comma_ && has_decimal(field.substr(0, field.find_first_of("eE")), ',')) {
    with_point = field;
    std::ranges::replace(with_point, ',', '.');
    field = with_point;
  }
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

GzipStream::GzipStream(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  FileDescriptor descriptor = store::open_regular_file(path, status);
  if (!descriptor) store::fail_system("read", path, "", errno);
  file_ = gzdopen(descriptor.release(), "rb");
  require(file_ != nullptr, "zlib cannot start");
  gzbuffer(file_, 1 << 18);
}

std::string GzipStream::read_some(std::size_t most) {
  std::string text(most, '\0');
  const int count = gzread(file_, text.data(), static_cast<unsigned>(most));
  int problem = Z_OK;
  gzerror(file_, &problem);  // also reports a file that ends too early
  if (count < 0 || problem != Z_OK) throw UserError(path_.string() + ": damaged or truncated gzip file");
  text.resize(static_cast<std::size_t>(count));
  return text;
}

}  // namespace skyline::evaluate

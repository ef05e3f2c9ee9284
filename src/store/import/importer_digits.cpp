#include "skyline/core/error.hpp"

#include "store/import/known_sets.hpp"
#include "store/import/plain_or_gzip.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace skyline::store {
namespace {

constexpr std::size_t kDigitPixels = 64;
constexpr std::size_t kDigitClasses = 10;
constexpr int kLargestDigitPixel = 16;
constexpr std::size_t kMostDigitsBytes = 64'000'000;

struct Row {
  std::array<std::uint8_t, kDigitPixels> pixels{};
  std::int32_t label = 0;
};

/// Reads one line: 64 pixels, then the label.
class RowReader {
 public:
  RowReader(std::string_view line, std::string place) : line_(line), place_(std::move(place)) {}

  Row read() {
    Row row;
    for (std::uint8_t& pixel : row.pixels) pixel = static_cast<std::uint8_t>(value(kLargestDigitPixel));
    row.label = value(static_cast<int>(kDigitClasses) - 1);
    if (!at_end_) fail("expected 65 values, got more");
    return row;
  }

 private:
  int value(int largest) {
    if (at_end_) fail("expected 65 values, got " + std::to_string(column_));
    ++column_;
    const std::size_t comma = line_.find(',');
    const std::string_view text = line_.substr(0, comma);
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || number < 0 || number > largest) {
      fail("column " + std::to_string(column_) + ": expected 0 to " + std::to_string(largest) + ", got `" +
           std::string(text) + "`");
    }
    at_end_ = comma == std::string_view::npos;
    if (!at_end_) line_.remove_prefix(comma + 1);
    return number;
  }
  [[noreturn]] void fail(const std::string& message) const { throw UserError(place_ + ": " + message); }

  std::string_view line_;
  std::string place_;
  std::size_t column_ = 0;
  bool at_end_ = false;
};

std::vector<Row> read_rows(const std::filesystem::path& file) {
  const std::string content = read_plain_or_gzip(file, [](std::string_view) { return kMostDigitsBytes; });
  if (content.size() > kMostDigitsBytes) {
    throw UserError(file.string() + ": expected the digits, which are some 300 kB, got more than 64 MB");
  }
  std::vector<Row> rows;
  std::string_view rest = content;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && rest.empty()) break;
    rows.push_back(RowReader(line, file.string() + ":" + std::to_string(number)).read());
  }
  if (rows.empty()) throw UserError(file.string() + ": the file is empty");
  return rows;
}

void append(const Row& row, Samples& set) {
  set.pixels().insert(set.pixels().end(), row.pixels.begin(), row.pixels.end());
  set.classes().push_back(row.label);
}

}  // namespace

DatasetContents import_digits(const std::filesystem::path& file) {
  const std::vector<Row> rows = read_rows(file);
  std::array<std::size_t, kDigitClasses> remaining{};
  for (const Row& row : rows) ++remaining[static_cast<std::size_t>(row.label)];
  std::array<std::size_t, kDigitClasses> test_size{};
  for (std::size_t i = 0; i < kDigitClasses; ++i) test_size[i] = remaining[i] / 5;

  DatasetContents contents;
  contents.shape = {1, 8, 8};
  contents.value_scale = kLargestDigitPixel;
  contents.source =
      "Optical Recognition of Handwritten Digits, test set (E. Alpaydin, C. Kaynak, 1998, UCI Machine "
      "Learning Repository), CC BY 4.0";
  for (std::size_t i = 0; i < kDigitClasses; ++i) contents.class_names.push_back(std::to_string(i));
  for (const Row& row : rows) {
    const auto label = static_cast<std::size_t>(row.label);
    const bool is_test = remaining[label]-- <= test_size[label];
    append(row, is_test ? contents.test : contents.train);
  }
  return contents;
}

}  // namespace skyline::store

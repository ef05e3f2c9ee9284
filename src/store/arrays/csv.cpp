#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "store/arrays/array_formats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{1} << 24;

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads a CSV file row by row. Empty lines do not count.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path) : path_(path), stream_(path) {}

  /// False at the end of the file.
  bool read_row() {
    do {
      if (!read_line()) return false;
    } while (line_.find_first_not_of(" \t") == std::string::npos);
    if (separator_ == '\0') separator_ = separator_of(line_);
    split();
    return true;
  }
  const std::vector<std::string>& fields() const { return fields_; }
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(path_.string() + ":" + std::to_string(number_) + ": " + message);
  }

 private:
  bool read_line() {
    std::size_t end = 0;
    while ((end = text_.find('\n', begin_)) == std::string::npos) {
      text_.erase(0, begin_);
      begin_ = 0;
      if (text_.size() > kMostLineBytes)
        fail("a line of more than " + std::to_string(kMostLineBytes) + " bytes");
      const std::string more = stream_.read_some(std::size_t{1} << 18);
      if (more.empty() && text_.empty()) return false;
      text_ += more.empty() ? "\n" : more;
    }
    line_ = text_.substr(begin_, end - begin_);
    if (line_.ends_with('\r')) line_.pop_back();
    begin_ = end + 1;
    ++number_;
    return true;
  }
  static char separator_of(const std::string& line) {
    for (const char separator : {',', '\t', ';'}) {
      if (line.find(separator) != std::string::npos) return separator;
    }
    return ' ';
  }
  void split() {
    fields_.assign(1, {});
    bool quoted = false;
    for (const char letter : line_) {
      if (letter == '"') {
        quoted = !quoted;
      } else if (letter == separator_ && !quoted) {
        if (separator_ != ' ' || !fields_.back().empty()) fields_.emplace_back();
      } else {
        fields_.back() += letter;
      }
    }
    for (std::string& field : fields_) {
      const std::size_t first = std::min(field.find_first_not_of(' '), field.size());
      field = field.substr(first, field.find_last_not_of(' ') + 1 - first);
    }
  }

  std::filesystem::path path_;
  PlainOrGzipStream stream_;
  std::string text_;  // what was read and not yet split into lines
  std::size_t begin_ = 0;
  std::string line_;
  std::size_t number_ = 0;  // of the line, from 1
  char separator_ = '\0';
  std::vector<std::string> fields_;
};

/// What a first reading of the file tells.
struct CsvLayout {
  bool has_names = false;  // its first row
  std::size_t columns = 0;
  std::size_t label = 0;  // the column
  std::size_t rows = 0;
  bool bytes = true;    // all features are whole numbers from 0 to 255
  bool whole = true;    // all labels are whole numbers
  bool numeric = true;  // all labels are numbers
  std::vector<std::string> labels;
};

std::size_t label_column(const std::vector<std::string>& first_row, bool has_names, const CsvOptions& options,
                         const CsvReader& reader) {
  if (options.label.empty()) return first_row.size() - 1;
  const auto named = std::ranges::find(first_row, options.label);
  if (has_names && named != first_row.end()) return static_cast<std::size_t>(named - first_row.begin());
  const double number = number_in(options.label).value_or(0);
  if (number >= 1 && number <= static_cast<double>(first_row.size()))
    return static_cast<std::size_t>(number) - 1;
  reader.fail("no column `" + options.label + "`, " +
              (has_names ? suggestion(options.label, first_row)
                         : "expected a number from 1 to " + std::to_string(first_row.size())));
}

double feature_of(const CsvReader& reader, std::size_t column) {
  const std::string& field = reader.fields()[column];
  const std::optional<double> value = number_in(field);
  if (!value || !std::isfinite(*value)) {
    reader.fail("column " + std::to_string(column + 1) + ": expected a number, got `" + field.substr(0, 40) +
                "`");
  }
  return *value;
}

void read_csv_row(const CsvReader& reader, CsvLayout& layout) {
  if (reader.fields().size() != layout.columns) {
    reader.fail("expected " + counted(layout.columns, "column") + ", got " +
                std::to_string(reader.fields().size()));
  }
  ++layout.rows;
  for (std::size_t column = 0; column < layout.columns; ++column) {
    if (column == layout.label) continue;
    const double value = feature_of(reader, column);
    layout.bytes = layout.bytes && value >= 0 && value <= 255 && value == std::floor(value);
  }
  const std::string& label = layout.labels.emplace_back(reader.fields()[layout.label]);
  if (label.empty()) reader.fail("column " + std::to_string(layout.label + 1) + ": the label is missing");
  const std::optional<double> value = number_in(label);
  layout.numeric = layout.numeric && value && std::isfinite(*value);
  layout.whole = layout.whole && value && *value == std::floor(*value) && std::abs(*value) < 1e15;
}

CsvLayout read_csv_layout(const std::filesystem::path& file, const CsvOptions& options) {
  CsvReader reader(file);
  CsvLayout layout;
  if (!reader.read_row()) throw UserError(file.string() + ": the file is empty");
  layout.columns = reader.fields().size();
  if (layout.columns < 2) reader.fail("expected at least 2 columns, got 1");
  layout.has_names =
      std::ranges::none_of(reader.fields(), [](auto& field) { return number_in(field).has_value(); });
  layout.label = label_column(reader.fields(), layout.has_names, options, reader);
  if (!layout.has_names) read_csv_row(reader, layout);
  while (reader.read_row()) read_csv_row(reader, layout);
  if (layout.rows == 0) throw UserError(file.string() + ": no rows behind the names of the columns");
  return layout;
}

/// The features, read once more.
class CsvFeatures final : public ArrayStream {
 public:
  CsvFeatures(const std::filesystem::path& file, CsvLayout layout)
      : reader_(file), layout_(std::move(layout)) {
    if (layout_.has_names) reader_.read_row();
  }
  void read(std::span<std::byte> bytes) override {
    for (std::size_t place = 0; place < bytes.size();) {
      if (!reader_.read_row() || reader_.fields().size() != layout_.columns)
        reader_.fail("the file changed while it was read");
      for (std::size_t column = 0; column < layout_.columns; ++column) {
        if (column == layout_.label) continue;
        const double value = feature_of(reader_, column);
        if (layout_.bytes) {
          bytes[place++] = static_cast<std::byte>(value);
        } else {
          const auto number = static_cast<float>(value);
          std::memcpy(bytes.data() + place, &number, sizeof(number));
          place += sizeof(number);
        }
      }
    }
  }

 private:
  CsvReader reader_;
  CsvLayout layout_;
};

/// An array that is in memory already.
class MemoryStream final : public ArrayStream {
 public:
  explicit MemoryStream(std::shared_ptr<const std::string> content) : content_(std::move(content)) {}
  void read(std::span<std::byte> bytes) override {
    require(place_ + bytes.size() <= content_->size(), "read beyond the end of an array");
    std::memcpy(bytes.data(), content_->data() + place_, bytes.size());
    place_ += bytes.size();
  }

 private:
  std::shared_ptr<const std::string> content_;
  std::size_t place_ = 0;
};

std::string part_in(const std::filesystem::path& file) {
  const std::string name = lower_case(file.filename().string());
  if (name.find("test") != std::string::npos) return "test";
  return name.find("val") != std::string::npos ? "val" : "train";
}

}  // namespace

std::vector<SourceArray> list_csv(const std::filesystem::path& file, const CsvOptions& options) {
  CsvLayout layout = read_csv_layout(file, options);
  const std::vector<std::string> labels = std::exchange(layout.labels, {});
  using Kind = ElementType::Kind;
  const auto rows = static_cast<std::int64_t>(layout.rows);
  SourceArray x{"x_" + part_in(file), file, {}, {rows, static_cast<std::int64_t>(layout.columns) - 1}, {}};
  if (!layout.bytes) x.type = {Kind::kFloat, sizeof(float)};
  x.open = [file, layout] { return std::make_unique<CsvFeatures>(file, layout); };
  SourceArray y{"y_" + part_in(file), file, {Kind::kFloat, sizeof(double)}, {rows}, {}};
  if (layout.whole) y.type = {Kind::kSigned, sizeof(std::int64_t)};
  if (!layout.numeric) y.words = labels;
  auto content = std::make_shared<std::string>();
  for (const std::string& label : labels) {
    const double number = number_in(label).value_or(0);
    const auto bytes = layout.whole ? std::bit_cast<std::array<char, 8>>(static_cast<std::int64_t>(number))
                                    : std::bit_cast<std::array<char, 8>>(number);
    content->append(bytes.data(), bytes.size());
  }
  y.open = [content] { return std::make_unique<MemoryStream>(content); };
  return {x, y};
}

}  // namespace skyline::store

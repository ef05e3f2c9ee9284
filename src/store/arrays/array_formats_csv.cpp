#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/array_formats.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{1} << 24;
constexpr std::size_t kMostColumns = std::size_t{1} << 20;
constexpr std::size_t kMostWordBytes = 255;
constexpr std::size_t kMostClasses = std::size_t{1} << 16;
constexpr std::size_t kMostRows = std::size_t{1} << 28;  // a packed file of some megabytes may have more

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

  /// Reads the next row. Returns false at the end of the file.
  bool read_row() {
    do {
      if (!read_line()) return false;
    } while (line_.find_first_not_of(" \t") == std::string::npos);
    if (separator_ == '\0') separator_ = separator_of(line_);
    split();
    return true;
  }
  const std::vector<std::string>& fields() const { return fields_; }
  /// Returns e.g. "set.csv:12: ".
  std::string place() const { return path_.string() + ":" + std::to_string(number_) + ": "; }
  [[noreturn]] void fail(const std::string& message) const { throw UserError(place() + message); }

 private:
  bool read_line() {
    std::size_t end = 0;
    while ((end = text_.find('\n', begin_)) == std::string::npos) {
      text_.erase(0, begin_);
      begin_ = 0;
      if (text_.size() > kMostLineBytes)
        throw UserError(path_.string() + ":" + std::to_string(number_ + 1) + ": a line of more than " +
                        std::to_string(kMostLineBytes) + " bytes");
      const std::string more = stream_.read_some(std::size_t{1} << 18);
      if (more.empty() && text_.empty()) return false;
      text_ += more.empty() ? "\n" : more;
    }
    line_ = text_.substr(begin_, end - begin_);
    if (line_.ends_with('\r')) line_.pop_back();
    begin_ = end + 1;
    if (++number_ == 1 && line_.starts_with("\xef\xbb\xbf")) line_.erase(0, 3);  // skips a byte-order mark
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
    for (std::size_t i = 0; i < line_.size(); ++i) {
      const char letter = line_[i];
      if (quoted && line_.compare(i, 2, "\"\"") == 0) {  // two quotes mean one
        fields_.back() += line_[i++];
      } else if (letter == '"') {
        quoted = !quoted;
      } else if (letter == separator_ && !quoted) {
        if (separator_ == ' ' && fields_.back().empty()) continue;
        if (fields_.size() == kMostColumns) fail("more than " + std::to_string(kMostColumns) + " columns");
        fields_.emplace_back();
      } else {
        fields_.back() += letter;
      }
    }
    if (separator_ == ' ' && fields_.size() > 1 && fields_.back().empty()) fields_.pop_back();
    for (std::string& field : fields_) {
      const std::size_t first = std::min(field.find_first_not_of(' '), field.size());
      field = field.substr(first, field.find_last_not_of(' ') + 1 - first);
    }
  }

  std::filesystem::path path_;
  PlainOrGzipStream stream_;
  std::string text_;  // bytes that are not yet split into lines
  std::size_t begin_ = 0;
  std::string line_;
  std::size_t number_ = 0;  // number of the line, from 1
  char separator_ = '\0';
  std::vector<std::string> fields_;
};

struct CsvLabels {
  bool are_words = false;             // some of them are not numbers
  bool whole = true;                  // all of them are whole numbers
  std::vector<double> numbers;        // number in each row
  std::vector<std::string> words;     // the different words
  std::vector<std::uint32_t> places;  // index into the words for each row
  std::unordered_map<std::string, std::uint32_t> known = {};
};

/// The result of the first reading of the file.
struct CsvLayout {
  bool has_names = false;       // the first row has names
  bool counts_columns = false;  // the names are numbers
  std::size_t columns = 0;
  std::size_t label = 0;  // the column with labels; equal to `columns` if there is none
  std::size_t rows = 0;
  bool bytes = true;  // all features are whole numbers from 0 to 255

  bool has_label() const { return label < columns; }
};

/// Returns whether a first row numbers its columns, as pandas does without names: 0, 1, 2, ..., and perhaps
/// the name of the labels. With two columns it could also be a sample.
bool counts_columns(const std::vector<std::string>& fields) {
  std::size_t numbers = 0;
  for (const std::string& field : fields) {
    if (!number_in(field)) continue;
    if (field != std::to_string(numbers++)) return false;
  }
  return fields.size() > 2 && fields.size() - numbers <= 1;
}

std::size_t label_column(const std::vector<std::string>& first_row, bool has_names, const CsvOptions& options,
                         const CsvReader& reader) {
  if (options.label.empty()) return first_row.size() - (first_row.size() == options.num_features ? 0 : 1);
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

void add_word(const CsvReader& reader, const std::string& word, CsvLabels& labels) {
  if (word.size() > kMostWordBytes)
    reader.fail("a label of more than " + std::to_string(kMostWordBytes) + " bytes");
  const auto [place, is_new] =
      labels.known.try_emplace(word, static_cast<std::uint32_t>(labels.words.size()));
  if (is_new) labels.words.push_back(word);
  if (labels.words.size() > kMostClasses)
    reader.fail("more than " + std::to_string(kMostClasses) + " different labels that are words");
  labels.places.push_back(place->second);
}

/// Returns false at the first label that is not a number.
bool add_label(const CsvReader& reader, const CsvLayout& layout, CsvLabels& labels) {
  const std::string& label = reader.fields()[layout.label];
  if (label.empty()) reader.fail("column " + std::to_string(layout.label + 1) + ": the label is missing");
  if (labels.are_words) {
    add_word(reader, label, labels);
    return true;
  }
  const std::optional<double> value = number_in(label);
  if (!value || !std::isfinite(*value)) {
    if (layout.rows > 1) log::warning(reader.place() + "`" + label + "` is no number: all labels are words");
    return false;
  }
  labels.whole = labels.whole && *value == std::floor(*value) && std::abs(*value) < 1e15;
  labels.numbers.push_back(*value);
  return true;
}

/// Returns false as add_label does.
bool read_csv_row(const CsvReader& reader, CsvLayout& layout, CsvLabels& labels) {
  if (reader.fields().size() != layout.columns) {
    reader.fail("expected " + counted(layout.columns, "column") + ", got " +
                std::to_string(reader.fields().size()));
  }
  if (++layout.rows > kMostRows) reader.fail("more than " + std::to_string(kMostRows) + " rows");
  for (std::size_t column = 0; column < layout.columns; ++column) {
    if (column == layout.label) continue;
    const double value = feature_of(reader, column);
    layout.bytes = layout.bytes && value >= 0 && value <= 255 && value == std::floor(value);
  }
  return !layout.has_label() || add_label(reader, layout, labels);
}

/// Returns nullopt at the first label that is not a number.
std::optional<CsvLayout> read_csv_layout(const std::filesystem::path& file, const CsvOptions& options,
                                         CsvLabels& labels) {
  CsvReader reader(file);
  CsvLayout layout;
  if (!reader.read_row()) throw UserError(file.string() + ": the file is empty");
  layout.columns = reader.fields().size();
  if (layout.columns < 2 && options.num_features != 1) reader.fail("expected at least 2 columns, got 1");
  layout.counts_columns = counts_columns(reader.fields());
  layout.has_names = layout.counts_columns || std::ranges::none_of(reader.fields(), [](auto& field) {
                       return number_in(field).has_value();
                     });
  layout.label = label_column(reader.fields(), layout.has_names, options, reader);
  if (!layout.has_names && !read_csv_row(reader, layout, labels)) return std::nullopt;
  while (reader.read_row()) {
    if (!read_csv_row(reader, layout, labels)) return std::nullopt;
  }
  if (layout.rows == 0) throw UserError(file.string() + ": no rows after the names of the columns");
  return layout;
}

/// The features, which are read a second time.
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

/// An array in memory.
template <typename Value>
class MemoryStream final : public ArrayStream {
 public:
  explicit MemoryStream(std::shared_ptr<const std::vector<Value>> values) : values_(std::move(values)) {}
  void read(std::span<std::byte> bytes) override {
    const auto all = std::as_bytes(std::span(*values_));
    require(place_ + bytes.size() <= all.size(), "read beyond the end of an array");
    std::ranges::copy(all.subspan(place_, bytes.size()), bytes.begin());
    place_ += bytes.size();
  }

 private:
  std::shared_ptr<const std::vector<Value>> values_;
  std::size_t place_ = 0;
};

template <typename Value>
void open_from_memory(SourceArray& array, ElementType::Kind kind, std::vector<Value> values) {
  array.type = {kind, sizeof(Value)};
  auto shared = std::make_shared<const std::vector<Value>>(std::move(values));
  array.open = [shared] { return std::make_unique<MemoryStream<Value>>(shared); };
}

/// Returns the part that the file's name states: "digits_test.csv", "testing.csv", "MnistTest.csv",
/// "val.csv".
std::string part_in(const std::filesystem::path& file) {
  static const std::set<std::string, std::less<>> kOthers{"contest", "fastest", "greatest", "latest"};
  const std::string name = lower_case(file.filename().string());
  const auto is_letter = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  std::set<std::string, std::less<>> parts;
  for (auto begin = name.begin(); begin != name.end();) {
    begin = std::find_if(begin, name.end(), is_letter);
    const auto end = std::find_if_not(begin, name.end(), is_letter);
    const std::string word(begin, end);
    if (word.starts_with("train")) parts.insert("train");
    if (word.starts_with("test") || (word.ends_with("test") && !kOthers.contains(word))) parts.insert("test");
    if (word == "val" || word == "valid" || word == "validation") parts.insert("val");
    begin = end;
  }
  return parts.size() == 1 ? *parts.begin() : "train";
}

}  // namespace

std::vector<SourceArray> list_csv(const std::filesystem::path& file, const CsvOptions& options) {
  CsvLabels labels;
  std::optional<CsvLayout> layout = read_csv_layout(file, options, labels);
  if (!layout) {  // reads again as text, which takes more memory than numbers
    labels = {};
    labels.are_words = true;
    layout = read_csv_layout(file, options, labels).value();
  }
  using Kind = ElementType::Kind;
  const auto rows = static_cast<std::int64_t>(layout->rows);
  const auto features = static_cast<std::int64_t>(layout->columns) - (layout->has_label() ? 1 : 0);
  const std::string part = part_in(file);
  log::info(file.string() + ": taken for " + (part == "val" ? "validation" : part) + " samples" +
            (layout->counts_columns ? "; its first row counts the columns, and is left out" : ""));
  SourceArray x{"x_" + part, file, {}, {rows, features}, {}};
  x.from_text = true;
  if (!layout->bytes) x.type = {Kind::kFloat, sizeof(float)};
  x.open = [file, layout = *layout] { return std::make_unique<CsvFeatures>(file, layout); };
  if (!layout->has_label()) return {x};
  SourceArray y{"y_" + part, file, {}, {rows}, {}};
  if (labels.are_words) {
    y.words = std::move(labels.words);
    open_from_memory(y, Kind::kUnsigned, std::move(labels.places));
  } else if (labels.whole) {
    open_from_memory(y, Kind::kSigned,
                     std::vector<std::int64_t>(labels.numbers.begin(), labels.numbers.end()));
  } else {
    open_from_memory(y, Kind::kFloat, std::move(labels.numbers));
  }
  return {x, y};
}

}  // namespace skyline::store

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/array_formats.hpp"
#include "store/arrays/feature_reader.hpp"
#include "store/arrays/memory_arrays.hpp"
#include "store/arrays/table_columns.hpp"
#include "store/arrays/table_survey.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostWordBytes = 255;
constexpr std::size_t kMostClasses = std::size_t{1} << 16;
constexpr std::size_t kMostRows = std::size_t{1} << 28;  // a packed file of some megabytes may have more
constexpr std::size_t kMostKept = std::size_t{1} << 23;  // numbers that are kept of all columns together

/// The targets of all rows.
struct CsvTargets {
  bool are_words = false;       // some of them are not numbers; there is one per row
  bool whole = true;            // all of them are whole numbers
  bool flags = true;            // all of them are 0 or 1
  std::vector<double> numbers;  // [rows, columns]
  WordColumn words;
  std::size_t numeric_words = 0;
  std::string first_word;  // the first word that is no number: "line 57 has `typo`"
  std::string unlabelled;  // the first `none` or its like, with its place; a class if there are other words
};

/// A table, which is read once for its facts and targets, and again for its features.
class CsvTable {
 public:
  CsvTable(const std::filesystem::path& file, const TableOptions& options)
      : file_(file), options_(options), columns_(find_columns(file, options)) {
    for (const std::size_t column : columns_.targets) target_columns_.push_back({columns_.names[column]});
  }
  void read();
  std::vector<SourceArray> arrays();

 private:
  /// Returns whether a preparation is made from the rows, rather than given.
  bool learns() const { return !options_.known && !options_.for_model; }
  /// Returns whether the preparation is learned from a row, rather than from others alone.
  bool trains(std::size_t row) const { return options_.trained.empty() || options_.trained[row]; }
  void begin_features();
  CsvReader& open(std::optional<CsvReader>& reader) const;
  void read_row(const CsvReader& reader);
  void add_features(const CsvReader& reader);
  void add_targets(const CsvReader& reader);
  void add_target(const CsvReader& reader, std::size_t column);
  void add_word(const CsvReader& reader);
  void add_group(const CsvReader& reader);
  void turn_into_words();
  std::string numbers_among_words() const;
  void learn();
  void tell_unknown_words() const;
  bool are_numbers() const;
  SourceArray targets();
  void scale_targets();

  const std::filesystem::path& file_;
  const TableOptions& options_;
  TableColumns columns_;
  std::vector<TargetColumn> target_columns_;
  std::size_t rows_ = 0;
  std::vector<ColumnSurvey> surveys_;  // if it learns
  std::optional<FeatureReader> features_;
  bool bytes_ = true;  // all features are whole numbers from 0 to 255
  CsvTargets targets_;
  WordColumn groups_;
  std::map<std::size_t, std::set<std::string>> words_;  // words that have features, by column
  std::map<std::size_t, std::size_t> unknown_words_;    // rows with other words, by column
  std::vector<std::string> ids_;
};

/// Opens the table at its first row with values.
CsvReader& CsvTable::open(std::optional<CsvReader>& reader) const {
  reader.emplace(file_);
  if (columns_.has_names) reader->read_row();
  return *reader;
}

void CsvTable::read() {
  begin_features();
  std::optional<CsvReader> reader;
  open(reader);
  while (reader->read_row()) read_row(*reader);
  if (rows_ == 0) throw UserError(file_.string() + ": no rows after the names of the columns");
  if (!targets_.unlabelled.empty()) throw UserError(targets_.unlabelled);
  if (learns()) learn();
  if (are_numbers()) scale_targets();
  tell_unknown_words();
  if (const std::string numbers = numbers_among_words(); !numbers.empty()) {
    columns_.notes.push_back("check: " + columns_.label(columns_.targets.front()) + ": " + numbers +
                             ": all are taken for words");
  }
}

/// Prepares the first reading of the features: to learn from them, or to check them.
void CsvTable::begin_features() {
  if (learns()) {
    const auto categories = columns_in(options_.categories, "categories", columns_, file_);
    for (const std::size_t column : columns_.features) {
      const bool is_category = std::ranges::find(categories, column) != categories.end();
      surveys_.emplace_back(column, is_category, kMostKept / columns_.features.size());
    }
    return;
  }
  std::vector<Feature> features;
  if (options_.known) {
    features = options_.known->features;
    for (std::size_t i = 0; i < target_columns_.size(); ++i) target_columns_[i] = options_.known->targets[i];
  } else {
    for (const std::size_t column : columns_.features) features.push_back({.column = columns_.names[column]});
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (features[i].is) words_[columns_.features[i]].insert(*features[i].is);
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!features[i].is_not.empty()) words_.erase(columns_.features[i]);
  }
  features_.emplace(std::move(features), columns_.features);
}

void CsvTable::read_row(const CsvReader& reader) {
  if (reader.fields().size() != columns_.names.size()) {
    reader.fail("expected " + counted(columns_.names.size(), "column") + ", got " +
                std::to_string(reader.fields().size()));
  }
  if (++rows_ > kMostRows) reader.fail("more than " + std::to_string(kMostRows) + " rows");
  add_features(reader);
  if (!columns_.targets.empty()) add_targets(reader);
  if (columns_.group && !options_.for_model) add_group(reader);
  if (columns_.id && options_.for_model) ids_.push_back(reader.fields()[*columns_.id]);
}

void CsvTable::add_features(const CsvReader& reader) {
  for (ColumnSurvey& survey : surveys_) survey.add(reader, trains(rows_ - 1));
  if (!features_) return;
  for (std::size_t i = 0; i < features_->size(); ++i) {
    const double value = features_->value(i, reader, columns_);
    bytes_ = bytes_ && value >= 0 && value <= 255 && value == std::floor(value);
  }
  for (const auto& [column, words] : words_) {
    if (!words.contains(reader.fields()[column])) ++unknown_words_[column];
  }
}

void CsvTable::add_targets(const CsvReader& reader) {
  if (targets_.are_words) return add_word(reader);
  for (const std::size_t column : columns_.targets) add_target(reader, column);
}

void CsvTable::add_target(const CsvReader& reader, std::size_t column) {
  const std::string& field = reader.fields()[column];
  const bool single = columns_.targets.size() == 1;
  const std::optional<double> value = single ? reader.number(field) : feature_in(reader, field);
  const std::string_view shown = without_outer_blanks(field);
  if (shown.empty() || shown == "?" || (value && std::isnan(*value)))
    reader.fail(columns_.label(column) + ": the label is missing");
  if (single && !value && is_missing_word(field)) {
    if (targets_.unlabelled.empty()) {
      targets_.unlabelled = reader.place() + columns_.label(column) +
                            ": the label is missing, or a class among numbers is called " + in_quotes(field) +
                            ", and needs another name";
    }
    return;
  }
  if (!value || !std::isfinite(*value)) {
    if (!single)
      reader.fail(columns_.label(column) + ": expected a number, as one of several targets, got " +
                  in_quotes(field));
    return turn_into_words();
  }
  targets_.whole = targets_.whole && *value == std::floor(*value) && std::abs(*value) < 1e15;
  targets_.flags = targets_.flags && (*value == 0 || *value == 1);
  targets_.numbers.push_back(*value);
}

void CsvTable::add_word(const CsvReader& reader) {
  const std::string& word = reader.fields()[columns_.targets.front()];
  const std::optional<double> number = reader.number(word);
  const std::string_view shown = without_outer_blanks(word);
  if (shown.empty() || shown == "?" || std::isnan(number.value_or(0)))
    reader.fail(columns_.label(columns_.targets.front()) + ": the label is missing");
  if (word.size() > kMostWordBytes)
    reader.fail("a label of more than " + std::to_string(kMostWordBytes) + " bytes");
  if (printable(word, "\n\r\t") != word) {
    reader.fail(columns_.label(columns_.targets.front()) +
                ": expected words in UTF-8 and without control characters, got `" +
                printable(shortened(word)) + "`: save the table as UTF-8");
  }
  if (number && std::isfinite(*number)) {
    ++targets_.numeric_words;
  } else if (targets_.first_word.empty()) {
    targets_.first_word = "line " + std::to_string(reader.line()) + " has " + in_quotes(word);
  }
  targets_.words.add(word);
  if (targets_.words.words.size() > kMostClasses)
    reader.fail("more than " + std::to_string(kMostClasses) + " different labels that are words");
}

void CsvTable::add_group(const CsvReader& reader) {
  const std::string& word = reader.fields()[*columns_.group];
  if (is_missing_word(word)) reader.fail(columns_.label(*columns_.group) + ": the group is missing");
  groups_.add(word);
}

/// Reads the labels again up to this row, the first whose label is no number. Words take more memory.
void CsvTable::turn_into_words() {
  targets_ = {};
  targets_.are_words = true;
  std::optional<CsvReader> again;
  open(again);
  for (std::size_t row = 0; row < rows_ && again->read_row(); ++row) add_word(*again);
}

/// Returns e.g. "199 of 200 values are numbers; line 57 has `typo`"; an empty text if no word is a number.
std::string CsvTable::numbers_among_words() const {
  if (targets_.numeric_words == 0) return {};
  return std::to_string(targets_.numeric_words) + " of " + std::to_string(rows_) + " values are numbers; " +
         targets_.first_word;
}

void CsvTable::learn() {
  std::vector<Feature> features;
  std::vector<std::size_t> places;
  std::vector<std::string> problems;
  std::vector<std::string> bad;
  std::vector<std::string> constant;
  for (const ColumnSurvey& survey : surveys_) {
    const auto problem = survey.describe(columns_, options_, rows_, features);
    places.resize(features.size(), survey.column());
    if (problem) {
      problems.push_back(*problem);
      if (const std::string& name = columns_.names[survey.column()]; !name.empty()) bad.push_back(name);
    } else if (survey.is_constant(rows_) && rows_ > 1) {
      constant.push_back(columns_.label(survey.column()));
    }
    bytes_ = bytes_ && survey.are_bytes();
  }
  if (!problems.empty()) {
    std::string advice;
    if (!bad.empty())
      advice = " (--drop=" + joined(bad, ",") + " leaves " + (bad.size() == 1 ? "it" : "them") + " out)";
    throw UserError(file_.string() + ": " + joined(problems, "; ") + advice);
  }
  if (features.empty()) throw UserError(file_.string() + ": no column is left for features");
  if (!constant.empty()) {
    columns_.notes.push_back(
        "check: " + counted(constant.size(), "column") + " always the same: " +
        joined(std::vector(constant.begin(),
                           constant.begin() + std::min<std::ptrdiff_t>(std::ssize(constant), 5))) +
        (constant.size() > 5 ? ", ..." : "") + " (--drop)");
  }
  features_.emplace(std::move(features), std::move(places));
  bytes_ = bytes_ && features_->are_plain();
}

void CsvTable::tell_unknown_words() const {
  for (const auto& [column, rows] : unknown_words_) {
    log::warning(
        file_.string() + ": " + columns_.label(column) + ": " + counted(rows, "row") +
        " with words, or empty cells, that the training data do not have: none of its features applies");
  }
}

/// Returns whether the targets are numbers, rather than classes or labels.
bool CsvTable::are_numbers() const {
  if (columns_.targets.empty() || targets_.are_words) return false;
  if (options_.targets) return *options_.targets == TargetKind::kNumbers;
  return columns_.targets.size() == 1 ? !targets_.whole : !targets_.flags;
}

/// Brings each column of targets to mean 0 and deviation 1, or to the known scale.
void CsvTable::scale_targets() {
  const std::size_t columns = target_columns_.size();
  for (std::size_t column = 0; column < columns; ++column) {
    TargetColumn& target = target_columns_[column];
    if (learns()) {
      double rows = 0;
      double sum = 0;
      double squares = 0;
      const double first = targets_.numbers[column];
      for (std::size_t row = 0; row < rows_; ++row) {
        if (!trains(row)) continue;
        const double distance = targets_.numbers[row * columns + column] - first;
        ++rows;
        sum += distance;
        squares += distance * distance;
      }
      const double variance = squares / rows - (sum / rows) * (sum / rows);
      target.mean = first + sum / rows;
      target.deviation = variance > 0 ? std::sqrt(variance) : 1;
      columns_.notes.push_back("targets: " + columns_.label(columns_.targets[column]) +
                               " is numbers, stored as (" + "value - " + objective::number_text(target.mean) +
                               ") / " + objective::number_text(target.deviation) +
                               "; predict and exports give its own units (--targets)");
    }
    for (std::size_t i = column; i < targets_.numbers.size(); i += columns)
      targets_.numbers[i] = (targets_.numbers[i] - target.mean) / target.deviation;
  }
}

/// The features, which are read a second time.
class CsvFeatures final : public ArrayStream {
 public:
  CsvFeatures(const std::filesystem::path& file, TableColumns columns, FeatureReader features, bool bytes)
      : reader_(file), columns_(std::move(columns)), features_(std::move(features)), bytes_(bytes) {
    if (columns_.has_names) reader_.read_row();
  }
  void read(std::span<std::byte> bytes) override {
    for (std::size_t place = 0; place < bytes.size();) {
      if (!reader_.read_row() || reader_.fields().size() != columns_.names.size())
        reader_.fail("the file changed while it was read");
      for (std::size_t i = 0; i < features_.size(); ++i) {
        const double value = features_.value(i, reader_, columns_);
        if (bytes_) {
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
  TableColumns columns_;
  FeatureReader features_;
  bool bytes_;
};

SourceArray CsvTable::targets() {
  using Kind = ElementType::Kind;
  SourceArray y{"y", file_, {}, {static_cast<std::int64_t>(rows_)}, {}};
  for (const TargetColumn& target : target_columns_) y.names.push_back(target.column);
  if (targets_.are_words) {
    if (2 * targets_.numeric_words > rows_) y.doubt = numbers_among_words();
    open_words(y, std::move(targets_.words));
    return y;
  }
  if (target_columns_.size() > 1) y.dims.push_back(static_cast<std::int64_t>(target_columns_.size()));
  y.were_whole = targets_.whole;
  if (are_numbers() || !targets_.whole) {
    open_from_memory(y, Kind::kFloat, std::move(targets_.numbers));
  } else {
    open_from_memory(y, Kind::kSigned,
                     std::vector<std::int64_t>(targets_.numbers.begin(), targets_.numbers.end()));
  }
  return y;
}

std::vector<SourceArray> CsvTable::arrays() {
  const std::string part = part_in_name(file_);
  if (options_.trained.empty())
    log::info(file_.string() + ": taken for " + (part == "val" ? "validation" : part) + " samples");
  SourceArray x{"x_" + part, file_, {}, {static_cast<std::int64_t>(rows_)}, {}};
  x.dims.push_back(static_cast<std::int64_t>(features_->size()));
  if (!bytes_) x.type = {ElementType::Kind::kFloat, sizeof(float)};
  x.open = [file = file_, columns = columns_, features = *features_, bytes = bytes_] {
    return std::make_unique<CsvFeatures>(file, columns, features, bytes);
  };
  auto facts = std::make_shared<TableFacts>();
  facts->preparation = {.has_names = columns_.has_names,
                        .features = features_->features(),
                        .targets = target_columns_,
                        .left_out = columns_.left_out,
                        .id = columns_.id ? columns_.names[*columns_.id] : ""};
  facts->ids = std::move(ids_);
  facts->notes = columns_.notes;
  x.from_text = true;
  x.table = std::move(facts);
  std::vector<SourceArray> arrays{x};
  if (!columns_.targets.empty()) {
    arrays.push_back(targets());
    arrays.back().name = "y_" + part;
  }
  if (!groups_.places.empty()) {
    SourceArray& group =
        arrays.emplace_back(SourceArray{"group_" + part, file_, {}, {static_cast<std::int64_t>(rows_)}, {}});
    open_words(group, std::move(groups_));
  }
  return arrays;
}

}  // namespace

std::string part_in_name(const std::filesystem::path& file) {
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

std::vector<SourceArray> list_csv(const std::filesystem::path& file, const TableOptions& options) {
  CsvTable table(file, options);
  table.read();
  return table.arrays();
}

}  // namespace skyline::store

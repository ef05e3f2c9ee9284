#include "store/arrays/table_columns.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>

namespace skyline::store {
namespace {

/// Returns whether the name says that a column has targets.
bool is_label_name(const std::string& name) {
  constexpr std::array kNames{"label", "class", "target", "y"};
  return std::ranges::find(kNames, lower_case(name)) != kNames.end();
}

/// Returns whether a first row numbers its columns, as pandas does without names: 0, 1, 2, ..., and perhaps
/// the name of the targets, after an empty one for the index. With two columns it could also be a sample.
bool counts_columns(const CsvReader& reader) {
  std::size_t numbers = 0;
  std::size_t others = 0;
  for (const std::string& field : reader.fields()) {
    const bool first = numbers + others == 0;
    if (!reader.number(field)) {
      if (!first || !is_nameless(field)) ++others;
    } else if (field != std::to_string(numbers++)) {
      return false;
    }
  }
  return reader.fields().size() > 2 && others <= 1;
}

/// Returns whether the first row has names: none of its fields is a number, it counts the columns or names
/// the label, or the row below it has a number where it has none.
bool first_row_names(const std::filesystem::path& file) {
  CsvReader reader(file);
  reader.read_row();
  const std::vector<std::string> first = reader.names();
  const auto is_number = [&](const std::string& field) { return reader.number(field).has_value(); };
  if (std::ranges::none_of(first, is_number) || counts_columns(reader)) return true;
  if (std::ranges::any_of(first, is_label_name)) return true;
  if (!reader.read_row() || reader.fields().size() != first.size()) return false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].size() > 1 && !is_number(first[i]) && is_number(reader.fields()[i])) return true;
  }
  return false;
}

void check_names(const TableColumns& columns, const CsvReader& reader) {
  std::set<std::string> known;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const std::string& name = columns.names[i];
    if (printable(name, "\n\r\t") != name)
      reader.fail("column " + std::to_string(i + 1) +
                  ": its name is not UTF-8, or has control characters: save the table as UTF-8");
    if (!known.insert(name).second && !is_nameless(name))
      reader.fail("two columns are called " + in_quotes(name));
  }
}

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 10;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMostShown); ++i) shown.push_back(in_quotes(names[i]));
  if (names.size() > kMostShown)
    shown.push_back("and " + std::to_string(names.size() - kMostShown) + " more");
  return joined(shown);
}

/// Finds what the columns of a table are for.
class ColumnFinder {
 public:
  ColumnFinder(const std::filesystem::path& file, const TableOptions& options)
      : file_(file), options_(options), reader_(file) {
    if (!reader_.read_row()) throw UserError(file.string() + ": the file is empty");
    const std::size_t count = reader_.fields().size();
    if (count < 2 && options.num_features != 1 && !options.known)
      reader_.fail("expected at least 2 columns, got 1");
    columns_.has_names = first_row_names(file);
    columns_.names = reader_.names();
    if (columns_.has_names) {
      check_names(columns_, reader_);
    } else {
      number_names();
    }
    taken_.resize(count);
  }

  TableColumns find() {
    if (const std::string dialect = reader_.dialect(); !dialect.empty()) note(dialect);
    // A table beside the training set may lack what is left out there, so the options are not for it.
    const bool has_options = !options_.known || options_.for_model;
    for (const std::size_t column : has_options ? named(options_.drop, "drop") : std::vector<std::size_t>{})
      leave_out(column);
    if (options_.known && !options_.known->has_names) number_like_known();
    find_id(has_options ? options_.id : "");
    find_group();
    if (options_.known) {
      match(*options_.known);
    } else {
      choose_targets();
      for (std::size_t i = 0; i < taken_.size(); ++i) {
        if (!taken_[i]) columns_.features.push_back(i);
      }
    }
    return std::move(columns_);
  }

 private:
  void note(const std::string& text) { columns_.notes.push_back(file_.filename().string() + ": " + text); }
  std::vector<std::size_t> named(const std::string& list, std::string_view key) const {
    return columns_in(list, key, columns_, file_);
  }
  void number_names() {
    for (std::size_t i = 0; i < columns_.names.size(); ++i) columns_.names[i] = std::to_string(i + 1);
  }
  void leave_out(std::size_t column) {
    taken_[column] = true;
    columns_.left_out.push_back(columns_.names[column]);
  }
  std::optional<std::size_t> place_of(const std::string& name) const {
    const auto found = std::ranges::find(columns_.names, name);
    if (found == columns_.names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.names.begin());
  }
  void find_id(const std::string& name) {
    const std::vector<std::size_t> named_ids = named(name, "id");
    if (named_ids.size() > 1) throw UserError("--id: expected one column");
    if (!named_ids.empty()) columns_.id = named_ids.front();
    if (!columns_.id && options_.known && !options_.known->id.empty())
      columns_.id = place_of(options_.known->id);
    if (columns_.id) taken_[*columns_.id] = true;
  }
  /// A table beside the training set may lack its groups.
  void find_group() {
    if (options_.group.empty()) return;
    if (options_.known) {
      columns_.group = place_of(options_.group);
    } else if (const auto named_groups = named(options_.group, "group"); !named_groups.empty()) {
      if (named_groups.size() > 1) throw UserError("--group: expected one column");
      columns_.group = named_groups.front();
    }
    if (columns_.group && !taken_[*columns_.group]) leave_out(*columns_.group);
  }
  void choose_targets();
  void choose(std::size_t column, const std::string& reason);
  void number_like_known();
  void match(const Preparation& known);

  const std::filesystem::path& file_;
  const TableOptions& options_;
  CsvReader reader_;
  TableColumns columns_;
  std::vector<bool> taken_;  // columns that are left out, the id or targets
};

void ColumnFinder::choose(std::size_t column, const std::string& reason) {
  if (taken_[column]) {
    throw UserError("--label: " + columns_.label(column) + " is the label, and another option names it, too");
  }
  columns_.targets.push_back(column);
  taken_[column] = true;
  if (!reason.empty()) note("label: " + columns_.label(column) + ", " + reason + " (--label names another)");
}

void ColumnFinder::choose_targets() {
  if (!options_.label.empty()) {
    for (const std::size_t column : named(options_.label, "label")) choose(column, "");
    return;
  }
  std::vector<std::size_t> by_name;
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    if (options_.for_model && columns_.has_names && is_nameless(columns_.names[i])) {
      leave_out(i);
      continue;
    }
    free.push_back(i);
    if (columns_.has_names && is_label_name(columns_.names[i])) by_name.push_back(i);
  }
  if (by_name.size() > 1) {
    reader_.fail(columns_.label(by_name[0]) + " and " + columns_.label(by_name[1]) +
                 " may both be the label: name it by --label");
  }
  if (by_name.size() == 1) return choose(by_name.front(), "by its name");
  if (free.empty() || free.size() == options_.num_features) return;
  choose(free.back(), columns_.has_names ? "the last one" : "the last one, since columns have no names");
}

/// Gives a table the numbers of a known one without names, which may or may not have columns of targets.
void ColumnFinder::number_like_known() {
  const Preparation& known = *options_.known;
  std::set<std::size_t> numbers;
  std::set<std::size_t> targets;
  const auto number_in = [](const std::string& text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  };
  for (const Feature& feature : known.features) numbers.insert(number_in(feature.column));
  for (const std::string& name : known.left_out) numbers.insert(number_in(name));
  if (!known.id.empty()) numbers.insert(number_in(known.id));
  for (const TargetColumn& target : known.targets) targets.insert(number_in(target.column));
  std::set<std::size_t> all = numbers;
  all.insert(targets.begin(), targets.end());
  std::vector<std::size_t> places;  // of the columns that are not left out
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) places.push_back(i);
  }
  if (places.size() > std::max(all.size(), numbers.size()) && columns_.has_names &&
      is_nameless(columns_.names.front())) {
    leave_out(0);
    places.erase(places.begin());
  }
  if (places.size() != all.size() && places.size() != numbers.size()) {
    reader_.fail("expected " + std::to_string(numbers.size()) + " columns" +
                 (all.size() > numbers.size() ? ", or " + std::to_string(all.size()) + " with targets" : "") +
                 ", as the training data have, got " + std::to_string(places.size()));
  }
  auto next = places.size() == all.size() ? all.begin() : numbers.begin();
  for (const std::size_t place : places) columns_.names[place] = std::to_string(*next++);
}

void ColumnFinder::match(const Preparation& known) {
  if (known.has_names && !columns_.has_names) {
    reader_.fail(
        "the columns have no names, and those of the training data have: expected a first row with " +
        quoted_list({known.features.front().column}) + " and so on");
  }
  std::set<std::string> wanted;
  for (const Feature& feature : known.features) wanted.insert(feature.column);
  std::set<std::string> others(known.left_out.begin(), known.left_out.end());
  for (const TargetColumn& target : known.targets) {
    (options_.needs_targets ? wanted : others).insert(target.column);
  }
  std::vector<std::string> missing;
  for (const std::string& name : wanted) {
    const auto place = place_of(name);
    if (!place || taken_[*place]) missing.push_back(name);
  }
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const std::string& name = columns_.names[i];
    if (taken_[i] || wanted.contains(name) || others.contains(name)) continue;
    if (columns_.has_names && is_nameless(name)) {
      note(columns_.label(i) + " is left out, since the training data do not have it");
    } else {
      unknown.push_back(name);
    }
  }
  if (!missing.empty() || !unknown.empty()) {
    std::string text = "the columns are not those of the training data: ";
    if (!missing.empty()) text += "missing " + quoted_list(missing);
    if (!missing.empty() && !unknown.empty()) text += "; ";
    if (!unknown.empty()) text += "unknown " + quoted_list(unknown) + " (--drop leaves columns out)";
    reader_.fail(text);
  }
  for (const Feature& feature : known.features) columns_.features.push_back(place_of(feature.column).value());
  if (!options_.needs_targets) return;
  for (const TargetColumn& target : known.targets)
    columns_.targets.push_back(place_of(target.column).value());
}

}  // namespace

std::string TableColumns::label(std::size_t column) const {
  return has_names && !names[column].empty() ? in_quotes(names[column])
                                             : "column " + std::to_string(column + 1);
}

bool is_nameless(std::string_view name) {
  return name.empty() || name.starts_with("Unnamed: ");
}

TableColumns find_columns(const std::filesystem::path& file, const TableOptions& options) {
  return ColumnFinder(file, options).find();
}

std::vector<std::size_t> columns_in(const std::string& list, std::string_view key,
                                    const TableColumns& columns, const std::filesystem::path& file) {
  if (list.empty()) return {};
  const bool is_one = std::ranges::find(columns.names, list) != columns.names.end();
  std::vector<std::size_t> places;
  for (const std::string& name : is_one ? std::vector{list} : split_csv(list, ',')) {
    const auto found = std::ranges::find(columns.names, name);
    std::size_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (found != columns.names.end()) {
      number = static_cast<std::size_t>(found - columns.names.begin()) + 1;
    } else if (read.ptr != name.data() + name.size() || number < 1 || number > columns.names.size()) {
      throw UserError(
          file.string() + ": " + "--" + std::string(key) + ": no column " + in_quotes(name) + ", " +
          (columns.has_names ? suggestion(name, columns.names)
                             : "expected a number from 1 to " + std::to_string(columns.names.size())));
    }
    if (std::ranges::find(places, number - 1) != places.end())
      throw UserError("--" + std::string(key) + ": names " + in_quotes(name) + " twice");
    places.push_back(number - 1);
  }
  return places;
}

}  // namespace skyline::store

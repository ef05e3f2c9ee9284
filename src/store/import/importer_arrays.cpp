#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/data/part_shares.hpp"
#include "store/import/array_groups.hpp"
#include "store/import/array_parts.hpp"
#include "store/import/array_targets.hpp"
#include "store/import/built_in.hpp"
#include "store/import/progress.hpp"
#include "store/import/sample_layout.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace skyline::store {
namespace {

/// Returns whether a preparation has facts that were learned from rows: medians, words, offsets or scales.
bool learned_values(const Preparation& preparation) {
  const auto is_plain = [](const Feature& feature) { return feature == Feature{.column = feature.column}; };
  return !std::ranges::all_of(preparation.features, is_plain) ||
         !std::ranges::all_of(preparation.targets, [](const TargetColumn& target) {
           return target.mean == 0 && target.deviation == 1;
         });
}

/// Reads arrays into a data set.
class ArrayImport {
 public:
  ArrayImport(const ImportSource& source, DatasetWriter& writer)
      : has_targets_(source.has_targets),
        for_model_(source.shape.has_value()),
        options_(array_keys().parse(source.options)),
        writer_(writer),
        rows_(source.rows),
        parts_(find_parts(source, options_)),
        layout_(sample_layout(options_, parts_.front().x, source.shape)) {}

  void run(const ImportSource& source) {
    TargetSet set = target_set();
    targets_ = std::move(set.targets);
    draw();
    check_meaning(set);
    if (learn_again(source)) {
      set = target_set();
      targets_ = std::move(set.targets);
    }
    const std::optional<Preparation> preparation = prepare(source);
    pixels_ = are_pixels(parts_);
    for (const std::string& line : set.notes) writer_.note(line);
    for (const std::string& name : parts_.front().left_over)
      writer_.note("array `" + name + "` is not read (--group=" + name +
                   " keeps its groups of samples together)");
    if (parts_.front().class_names) writer_.note("names of the outputs: array `class_names`");
    std::string origin = "arrays of " + parts_.front().x.file.filename().string();
    const bool has_classes = std::holds_alternative<std::vector<std::int32_t>>(targets_.front().values);
    if (const std::string drawn = draw_text(shares_, has_classes); !drawn.empty()) {
      origin += "; " + drawn;
      writer_.note(drawn + " (--test, --validation, --seed)");
    }
    if (parts_.front().group) writer_.note(groups_text());
    if (options_.split == Split::kLast)
      writer_.note(
          "samples in the order of time: a search holds out the last training samples, too (--split)");
    writer_.describe({layout_.shape, std::move(set.names), origin, pixels_ ? options_.value_scale : 1,
                      preparation ? to_json(*preparation) : "", options_.split == Split::kLast});
    check_room();
    for (const Part part : kAllParts) add(part);
  }

 private:
  bool learn_again(const ImportSource& source);
  std::vector<bool> trained_rows() const;
  std::optional<Preparation> prepare(const ImportSource& source);
  TargetSet target_set() const {
    if (!has_targets_) {
      TargetSet set{{"unknown"}, {}};
      for (const PartArrays& part : parts_) set.targets.push_back({std::vector<std::int32_t>(part.x.rows())});
      return set;
    }
    std::vector<SourceArray> arrays;
    for (const PartArrays& part : parts_) arrays.push_back(part.y);
    const auto& names = parts_.front().class_names;
    return read_targets(arrays, options_.targets, names ? read_names(*names) : std::vector<std::string>{});
  }
  void draw();
  void check_meaning(const TargetSet& set) const;
  void check_classes(const std::vector<std::int32_t>& labels) const;
  std::string groups_text() const;
  void check_room() const;
  void add(Part part);
  void add_rows(Part part, const PartArrays& from, const ArrayTargets& targets);
  bool takes(const PartArrays& from, std::size_t row, Part part) const {
    return (from.part == Part::kTrain ? drawn_[row] : from.part) == part;
  }

  bool has_targets_;
  bool for_model_;
  ArrayOptions options_;
  DatasetWriter& writer_;
  SourceRows* rows_;
  std::vector<PartArrays> parts_;  // parts in their order
  bool pixels_ = false;
  SampleLayout layout_;
  std::vector<ArrayTargets> targets_;  // targets for each of parts_
  PartShares shares_;
  TrainingGroups groups_;    // if the user named some
  std::vector<Part> drawn_;  // part of each row of the training array
};

/// Reads the training table anew if its preparation was learned from rows that have become other parts.
/// Returns whether it did.
bool ArrayImport::learn_again(const ImportSource& source) {
  const auto& table = parts_.front().x.table;
  std::vector<bool> trained = trained_rows();
  if (table == nullptr || for_model_ || trained.empty() || !learned_values(table->preparation)) return false;
  parts_ = find_parts(source, options_, trained);
  layout_ = sample_layout(options_, parts_.front().x, source.shape);
  return true;
}

/// Returns which rows of the training array stay in the training set; empty if all of them do.
std::vector<bool> ArrayImport::trained_rows() const {
  std::vector<bool> trained;
  if (std::ranges::count(drawn_, Part::kTrain) == std::ssize(drawn_)) return trained;
  for (const Part part : drawn_) trained.push_back(part == Part::kTrain);
  return trained;
}

/// Returns how samples are made of rows, and tells what was guessed about them.
std::optional<Preparation> ArrayImport::prepare(const ImportSource& source) {
  std::vector<std::string> notes;
  std::optional<Preparation> centred;
  const bool are_features = options_.layout == Layout::kByRank || options_.layout == Layout::kFeatures;
  const SourceArray& first = parts_.front().x;
  if (are_features && options_.shape.empty() && first.dims.size() <= 2) {
    centred = centre_columns(parts_, known_preparation(source), trained_rows(), notes);
  } else if (!for_model_) {
    tell_merged(first, notes);
  }
  const bool has_numbers = std::holds_alternative<std::vector<float>>(targets_.front().values);
  if (has_numbers && first.table == nullptr && !for_model_) tell_merged(parts_.front().y, notes);
  for (const PartArrays& part : parts_) {
    if (part.x.table != nullptr) std::ranges::copy(part.x.table->notes, std::back_inserter(notes));
  }
  for (const std::string& line : notes) writer_.note(line);
  const auto& table = parts_.front().x.table;
  if (rows_ != nullptr && table != nullptr && !table->ids.empty()) rows_->title = table->preparation.id;
  return table != nullptr ? table->preparation : std::move(centred);
}

void ArrayImport::draw() {
  shares_ = {options_.test.value_or(parts_.size() > 1 ? 0 : 0.2), options_.validation, options_.seed,
             options_.split};
  for (const PartArrays& part : parts_) {
    const double share = part.part == Part::kTest ? shares_.test : shares_.validation;
    if (part.part != Part::kTrain && share > 0)
      throw UserError(part.x.label() + " is the " + to_text(part.part) + " set, so leave out --" +
                      to_text(part.part));
  }
  const std::vector<std::int32_t> labels = targets_.front().labels();
  if (parts_.front().group) {
    if (options_.split == Split::kLast)
      throw UserError("--group and --split=last exclude each other: leave one of them out");
    shares_.split = Split::kGroups;
    groups_ = read_groups(parts_);
  }
  try {
    drawn_ = draw_parts(labels, shares_, groups_.numbers);
  } catch (const UserError& error) {
    if (groups_.numbers.empty()) throw;
    parts_.front().group->fail(error.what());
  }
  check_classes(labels);
}

/// Tells in how many groups the samples are, and how many of them each other part has.
std::string ArrayImport::groups_text() const {
  const SourceArray& array = parts_.front().group.value();
  const bool is_column = parts_.front().x.table != nullptr;
  std::string text = std::string("groups: ") + (is_column ? "column " : "array ") +
                     in_quotes(options_.group) + ", " + counted(groups_.count, "group");
  for (const Part part : {Part::kTest, Part::kValidation}) {
    std::set<std::int32_t> members;
    std::size_t samples = 0;
    for (std::size_t row = 0; row < drawn_.size(); ++row) {
      if (drawn_[row] != part) continue;
      members.insert(groups_.numbers[row]);
      ++samples;
    }
    if (samples == 0) continue;
    text += std::string("; ") + to_text(part) + " set: " + std::to_string(members.size()) + " of them, " +
            std::to_string((200 * samples + array.rows()) / (2 * array.rows())) + " % of samples";
  }
  for (const PartArrays& part : parts_) {
    if (!part.group) text += std::string("; the ") + to_text(part.part) + " set has no groups to compare";
  }
  return text + " (--group)";
}

/// Refuses a choice of the last samples that leaves no sample of a class to train on.
void ArrayImport::check_classes(const std::vector<std::int32_t>& labels) const {
  if (options_.split != Split::kLast) return;
  std::set<std::int32_t> missing(labels.begin(), labels.end());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (drawn_[row] == Part::kTrain) missing.erase(labels[row]);
  }
  if (!missing.empty())
    parts_.front().y.fail(std::to_string(missing.size()) +
                          " of the classes without a sample to train on, since " + draw_text(shares_) +
                          ": put the samples in the order of time, or leave out --split=last");
}

/// Refuses a single class, and asks what numbers mean that were taken for classes and can hardly be classes,
/// or are numbers but for a few. @throws UserError
void ArrayImport::check_meaning(const TargetSet& set) const {
  constexpr std::size_t kFewSamples = 20;  // of which nothing can be said
  const SourceArray& y = parts_.front().y;
  const auto* const classes = std::get_if<std::vector<std::int32_t>>(&targets_.front().values);
  if (classes == nullptr || !has_targets_ || for_model_) return;
  const std::string column = y.names.empty() ? "" : in_quotes(y.names.front()) + ": ";
  if (set.names.size() < 2)
    y.fail(column + "expected at least 2 classes, got " + in_quotes(set.names.front()) + " alone");
  const bool told = options_.targets || parts_.front().class_names;
  const bool are_numbers = y.words.empty();
  if (told || (!are_numbers && y.doubt.empty()) || classes->size() < kFewSamples) return;
  std::vector<std::size_t> counts(set.names.size());
  for (const std::int32_t label : *classes) ++counts[static_cast<std::size_t>(label)];
  const auto single = std::ranges::count(counts, 1U);
  const bool no_test = shares_.test > 0 && std::ranges::find(drawn_, Part::kTest) == drawn_.end();
  if (3 * counts.size() <= classes->size() && single == 0 && !no_test) return;
  std::string found = (are_numbers ? "" : y.doubt + "; ") + std::to_string(counts.size()) + " different " +
                      (are_numbers ? "whole numbers" : "values") + " in " +
                      counted(classes->size(), "sample");
  if (single > 0) found += ", " + std::to_string(single) + " of them once";
  if (no_test) found += "; as classes they leave the test set empty";
  y.fail(column + found + ": " +
         (are_numbers ? "say --targets=numbers or --targets=classes"
                      : "correct the table, or say --targets=classes") +
         (column.empty() ? "" : ", or name the label by --label"));
}

void ArrayImport::check_room() const {
  const std::size_t value_bytes = pixels_ ? 1 : sizeof(float);
  std::uint64_t bytes = 0;
  for (const PartArrays& part : parts_) bytes += part.x.rows() * part.x.row_elements() * value_bytes;
  writer_.check_room(bytes);
}

void ArrayImport::add(Part part) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const PartArrays& from = parts_[i];
    const bool drawn = std::ranges::find(drawn_, part) != drawn_.end();
    if (from.part == part || (from.part == Part::kTrain && drawn)) add_rows(part, from, targets_[i]);
  }
}

void ArrayImport::add_rows(Part part, const PartArrays& from, const ArrayTargets& targets) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 22;
  const std::size_t row_bytes = from.x.row_bytes();
  const std::size_t at_once = std::max<std::size_t>(kBlockBytes / row_bytes, 1);
  const auto stream = from.x.open();
  std::vector<std::byte> rows;
  Progress progress("reading " + from.x.label(), from.x.rows());
  for (std::size_t first = 0; first < from.x.rows(); first += at_once) {
    rows.resize(std::min(at_once, from.x.rows() - first) * row_bytes);
    stream->read(rows);
    std::vector<std::size_t> taken;
    std::vector<std::byte> bytes;
    for (std::size_t row = 0; row < rows.size() / row_bytes; ++row) {
      if (!takes(from, first + row, part)) continue;
      taken.push_back(first + row);
      if (rows_ != nullptr) rows_->rows.push_back({part, from.x.row_name(first + row), {}});
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * row_bytes);
      bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes));
    }
    const ArrayTargets some = targets.of(taken);
    SampleView view;
    view.count = taken.size();
    std::vector<std::int32_t> groups;
    if (part == Part::kTrain && !groups_.numbers.empty()) {
      for (const std::size_t row : taken) groups.push_back(groups_.numbers[row]);
    }
    view.groups = groups;
    std::visit([&view](const auto& values) { view.targets = std::span(values); }, some.values);
    if (pixels_) {
      const auto pixels = samples_of<std::uint8_t>(from.x, layout_, bytes, taken);
      view.values = std::span(pixels);
      writer_.append(part, view);
    } else {
      const auto numbers = samples_of<float>(from.x, layout_, bytes, taken);
      view.values = std::span(numbers);
      writer_.append(part, view);
    }
    progress.advance(rows.size() / row_bytes);
  }
}

class ArraysImporter final : public Importer {
 public:
  std::string meaning() const override {
    return "Arrays x_train and y_train, with x_val, y_val, x_test and y_test if there are, in npz, npy, "
           "HDF5, IDX "
           "or CSV files.";
  }
  std::string sources() const override { return "FILE..."; }
  std::shared_ptr<const KeyTable> keys() const override {
    return std::make_shared<OptionTable<ArrayOptions>>(array_keys());
  }
  bool reads_samples_alone() const override { return true; }
  void import(const ImportSource& source, DatasetWriter& writer) const override {
    ArrayImport(source, writer).run(source);
  }
};

}  // namespace

std::shared_ptr<const Importer> arrays_importer() {
  return std::make_shared<ArraysImporter>();
}

}  // namespace skyline::store

#include "store/import/array_parts.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace skyline::store {
namespace {

const std::vector<std::string> kValidationNames{"x_val", "x_valid", "x_validation"};
const std::vector<std::string> kValidationTargets{"y_val", "y_valid", "y_validation"};

/// The arrays of all files, looked up by name.
class ArrayCatalogue {
 public:
  /// Tables for training come first, since the others are read as they are.
  ArrayCatalogue(const ImportSource& source, TableOptions tables) : source_(source) {
    std::vector<std::filesystem::path> paths = source.paths;
    std::ranges::stable_partition(paths, [](const auto& path) { return part_in_name(path) == "train"; });
    for (const auto& path : paths) {
      for (SourceArray& array : list_arrays(path, tables)) {
        if (array.table != nullptr && !source.shape && !tables.known) tables.known = array.table->preparation;
        if (tables.known && !tables.targets && array.name.starts_with('y') &&
            array.type.kind == ElementType::Kind::kFloat)
          tables.targets = TargetKind::kNumbers;
        arrays_.push_back(std::move(array));
      }
    }
  }
  /// Finds an array by name.
  /// @param told  the user's name for it; if empty, the first of `names` that exists is taken
  const SourceArray* find(const std::string& told, const std::vector<std::string>& names) const {
    for (const std::string& name : told.empty() ? names : std::vector{told}) {
      const SourceArray* const found = find_named(name, told.empty());
      if (found != nullptr) return found;
    }
    if (!told.empty()) throw UserError("no array `" + told + "`, " + listing());
    return nullptr;
  }
  const SourceArray& at(const std::string& told, const std::vector<std::string>& names,
                        const char* key) const {
    const SourceArray* const found = find(told, names);
    if (found != nullptr) return *found;
    throw UserError("no array `" + names.front() + "`, " + listing() + ": name it by --" + key + "=NAME");
  }

  /// Returns the arrays with a row for each training sample that were not asked for. Tables say themselves
  /// which of their columns they leave out.
  std::vector<std::string> left_over(const SourceArray& training) const {
    std::vector<std::string> names;
    for (const SourceArray& array : arrays_) {
      const bool fits = array.table == nullptr && array.problem.empty() && array.rows() == training.rows();
      if (fits && !asked_for_.contains(array.label())) names.push_back(array.name);
    }
    return names;
  }

 private:
  const SourceArray* find_named(const std::string& name, bool any_case) const {
    const SourceArray* found = nullptr;
    for (const SourceArray& array : arrays_) {
      const bool named = array.name == name || (any_case && lower_case(array.name) == name);
      if (!named && array.file.filename() != name) continue;
      if (found != nullptr)
        throw UserError("two arrays `" + name + "`: " + found->label() + ", " + array.label());
      found = &array;
    }
    if (found == nullptr) return nullptr;
    if (!found->problem.empty()) found->fail(found->problem);
    asked_for_.insert(found->label());
    return found;
  }
  std::string listing() const {
    std::vector<std::string> names;
    for (const SourceArray& array : arrays_) names.push_back(array.name);
    return names.empty() ? "there is none" : "there are " + joined(names);
  }

  const ImportSource& source_;
  std::vector<SourceArray> arrays_;
  mutable std::set<std::string> asked_for_;  // labels
};

/// @param for_models  accept an incomplete set
std::vector<PartArrays> named_parts(const ArrayCatalogue& catalogue, const ArrayOptions& options,
                                    bool for_models) {
  const auto* x_val = catalogue.find(options.x_val, kValidationNames);
  const auto add_validation = [&](std::vector<PartArrays>& parts) {
    if (x_val == nullptr) return;
    parts.push_back({Part::kValidation, *x_val, catalogue.at(options.y_val, kValidationTargets, "y-val")});
  };
  if (for_models && catalogue.find(options.x_train, {"x_train"}) == nullptr) {
    std::vector<PartArrays> parts;
    if (const auto* x = catalogue.find(options.x_test, {"x_test", "x"}))
      parts.push_back({Part::kTest, *x, catalogue.at(options.y_test, {"y_test", "y"}, "y-test")});
    add_validation(parts);
    if (!parts.empty()) return parts;
  }
  std::vector<std::string> x_names{"x_train"};
  std::vector<std::string> y_names{"y_train"};
  if (catalogue.find(options.x_train, x_names) == nullptr &&
      catalogue.find(options.y_train, y_names) == nullptr) {
    x_names.emplace_back("x");
    y_names.emplace_back("y");
  }
  std::vector<PartArrays> parts{{Part::kTrain, catalogue.at(options.x_train, x_names, "x-train"),
                                 catalogue.at(options.y_train, y_names, "y-train")}};
  add_validation(parts);
  if (const auto* x = catalogue.find(options.x_test, {"x_test"}))
    parts.push_back({Part::kTest, *x, catalogue.at(options.y_test, {"y_test"}, "y-test")});
  return parts;
}

/// Returns the samples of each part that exists, without targets.
std::vector<PartArrays> samples_alone(const ArrayCatalogue& catalogue, const ArrayOptions& options) {
  std::vector<PartArrays> parts;
  const auto add = [&](Part part, const SourceArray* x) {
    if (x != nullptr) parts.push_back({part, *x, *x});
  };
  add(Part::kTrain, catalogue.find(options.x_train, {"x_train"}));
  add(Part::kValidation, catalogue.find(options.x_val, kValidationNames));
  add(Part::kTest, catalogue.find(options.x_test, {"x_test"}));
  if (parts.empty()) add(Part::kTest, &catalogue.at(options.x_test, {"x_test", "x"}, "x-test"));
  return parts;
}

/// Finds the groups of a part: a column of its table, or the array that the user named, which is the training
/// set's. The other parts' have `test` or `val` in their names where it has `train`.
std::optional<SourceArray> find_group(const ArrayCatalogue& catalogue, const PartArrays& part,
                                      const std::string& told) {
  if (part.x.table != nullptr) {
    const auto* const group = catalogue.find("", {"group_" + part_in_name(part.x.file)});
    return group != nullptr ? std::optional(*group) : std::nullopt;
  }
  if (part.part == Part::kTrain) return *catalogue.find(told, {});
  const std::string train = "train";
  const std::size_t place = told.find(train);
  if (place == std::string::npos) return std::nullopt;
  std::string name = told;
  name.replace(place, train.size(), part.part == Part::kTest ? "test" : "val");
  const auto* const group = catalogue.find("", {name});
  return group != nullptr ? std::optional(*group) : std::nullopt;
}

constexpr std::size_t kMostJudged = std::size_t{1} << 23;  // numbers by which columns are judged

/// Returns whether float32 may round the array's elements.
bool may_round(const ElementType& type) {
  return type.bytes > (type.kind == ElementType::Kind::kFloat ? 4U : 2U);
}

/// The rows of an array as float32, from which a number per column is subtracted in double.
class CentredStream final : public ArrayStream {
 public:
  CentredStream(const SourceArray& array, std::vector<double> offsets)
      : stream_(array.open()), type_(array.type), offsets_(std::move(offsets)) {}
  void read(std::span<std::byte> bytes) override {
    std::vector<std::byte> stored(bytes.size() / sizeof(float) * type_.bytes);
    stream_->read(stored);
    std::vector<double> values(bytes.size() / sizeof(float));
    to_doubles(type_, stored, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<float>(values[i] - offsets_[i % offsets_.size()]);
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  }

 private:
  std::unique_ptr<ArrayStream> stream_;
  ElementType type_;
  std::vector<double> offsets_;
};

/// Reads the first rows of an array.
std::vector<double> read_first(const SourceArray& x, std::size_t rows) {
  std::vector<std::byte> bytes(rows * x.row_bytes());
  x.open()->read(bytes);
  std::vector<double> values(rows * x.row_elements());
  to_doubles(x.type, bytes, values);
  return values;
}

std::size_t count_judged(const SourceArray& x) {
  return std::clamp<std::size_t>(kMostJudged / x.row_elements(), 1, x.rows());
}

/// Returns the number to subtract from each column.
std::vector<double> find_offsets(const SourceArray& x, const std::vector<bool>& trained,
                                 std::vector<std::string>& notes) {
  const std::size_t columns = x.row_elements();
  const std::size_t rows = count_judged(x);
  const std::vector<double> values = read_first(x, rows);
  std::vector<double> offsets;
  for (std::size_t column = 0; column < columns; ++column) {
    std::vector<double> kept;
    for (std::size_t row = 0; row < rows; ++row) {
      if (trained.empty() || trained[row]) kept.push_back(values[row * columns + column]);
    }
    offsets.push_back(
        find_centre(kept, x.label() + ": column " + std::to_string(column), "leave it out", notes));
  }
  return offsets;
}

}  // namespace

std::optional<Preparation> known_preparation(const ImportSource& source) {
  if (source.preparation.empty()) return std::nullopt;
  return read_preparation(source.preparation);
}

std::vector<PartArrays> find_parts(const ImportSource& source, const ArrayOptions& options,
                                   const std::vector<bool>& trained) {
  const auto num_features = static_cast<std::size_t>(source.shape ? source.shape->elements() : 0);
  const ArrayCatalogue catalogue(source, {.label = options.label,
                                          .drop = options.drop,
                                          .id = options.id,
                                          .group = options.group,
                                          .categories = options.categories,
                                          .most_categories = options.most_categories,
                                          .missing = options.missing,
                                          .targets = options.targets,
                                          .known = known_preparation(source),
                                          .trained = trained,
                                          .num_features = num_features,
                                          .needs_targets = source.has_targets,
                                          .for_model = source.shape.has_value()});
  std::vector<PartArrays> parts = source.has_targets
                                      ? named_parts(catalogue, options, source.shape.has_value())
                                      : samples_alone(catalogue, options);
  if (const auto* const names = catalogue.find("", {"class_names"}); names != nullptr && source.has_targets)
    parts.front().class_names = *names;
  if (!options.group.empty() && !source.shape) {
    for (PartArrays& part : parts) part.group = find_group(catalogue, part, options.group);
  }
  const SourceArray& first = parts.front().x;
  if (!source.shape) parts.front().left_over = catalogue.left_over(first);
  constexpr std::size_t kMostSampleValues = std::size_t{1} << 28;
  if (first.row_elements() > kMostSampleValues)
    first.fail("expected samples of at most " + std::to_string(kMostSampleValues) + " values, got " +
               std::to_string(first.row_elements()));
  for (const PartArrays& part : parts) {
    if (!part.x.words.empty()) part.x.fail("expected numbers, got words");
    if (part.x.rows() != part.y.rows())
      part.y.fail("expected " + std::to_string(part.x.rows()) + " targets, one for each sample, got " +
                  std::to_string(part.y.rows()));
    if (!std::ranges::equal(std::span(part.x.dims).subspan(1), std::span(first.dims).subspan(1)))
      part.x.fail("expected samples of the same dimensions as in " + first.label());
    const bool told = !part.x.from_text && !first.from_text;
    if (told && part.x.type.is_uint8() != first.type.is_uint8())
      part.x.fail("is " + to_text(part.x.type) + ", and " + first.label() + " is " + to_text(first.type));
  }
  return parts;
}

std::optional<Preparation> centre_columns(std::vector<PartArrays>& parts,
                                          const std::optional<Preparation>& known,
                                          const std::vector<bool>& trained, std::vector<std::string>& notes) {
  const SourceArray& first = parts.front().x;
  if (first.table != nullptr || !may_round(first.type)) return std::nullopt;
  Preparation preparation;
  preparation.has_names = false;
  std::vector<double> offsets;
  if (known && known->features.size() == first.row_elements()) {
    for (const Feature& feature : known->features) offsets.push_back(feature.subtract);
  } else if (!known) {
    offsets = find_offsets(first, trained, notes);
  }
  if (std::ranges::count(offsets, 0) == std::ssize(offsets)) return std::nullopt;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    preparation.features.push_back({.column = std::to_string(i + 1), .subtract = offsets[i]});
  for (PartArrays& part : parts) {
    const SourceArray stored = part.x;
    part.x.type = {ElementType::Kind::kFloat, sizeof(float)};
    part.x.open = [stored, offsets] { return std::make_unique<CentredStream>(stored, offsets); };
  }
  return preparation;
}

void tell_merged(const SourceArray& x, std::vector<std::string>& notes) {
  if (!may_round(x.type)) return;
  const std::vector<double> values = read_first(x, count_judged(x));
  const std::size_t different = count_different(values);
  const std::size_t floats = count_floats(values);
  if (100 * floats >= 99 * different) return;
  notes.push_back("check: " + x.label() + ": its " + std::to_string(different) + " different values are " +
                  std::to_string(floats) + " in float32 (subtract their mean before you save it)");
}

bool are_pixels(const std::vector<PartArrays>& parts) {
  return std::ranges::all_of(parts, [](const PartArrays& part) { return part.x.type.is_uint8(); });
}

}  // namespace skyline::store

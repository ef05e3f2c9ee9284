#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/source_array.hpp"
#include "store/import/array_targets.hpp"
#include "store/import/built_in.hpp"
#include "store/import/part_shares.hpp"
#include "store/import/progress.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace skyline::store {
namespace {

/// What the dimensions of an array of samples are.
enum class Layout { kByRank, kChw, kHwc, kHw, kChannelsLength, kLengthChannels, kFeatures };

struct ArrayOptions {
  std::string x_train;
  std::string y_train;
  std::string x_val;
  std::string y_val;
  std::string x_test;
  std::string y_test;
  std::string label;
  Layout layout = Layout::kByRank;
  std::string shape;
  std::optional<TargetKind> targets;
  double value_scale = 255;
  std::optional<double> test;
  double validation = 0;
  std::uint64_t seed = 1;
};

const OptionTable<ArrayOptions>& array_keys() {
  const auto name = [] { return text("the name of an array, or its file's"); };
  static const OptionTable<ArrayOptions> table{
      {"x-train", &ArrayOptions::x_train, name(), "Array of the training samples (default: x_train)."},
      {"y-train", &ArrayOptions::y_train, name(), "Array of their targets (default: y_train)."},
      {"x-val", &ArrayOptions::x_val, name(),
       "Array of the validation samples (default: x_val, if there is one)."},
      {"y-val", &ArrayOptions::y_val, name(), "Array of their targets."},
      {"x-test", &ArrayOptions::x_test, name(),
       "Array of the test samples (default: x_test, if there is one)."},
      {"y-test", &ArrayOptions::y_test, name(), "Array of their targets."},
      {"label", &ArrayOptions::label, text("the name of a column, or its number from 1"),
       "The column of a CSV file that has the targets (default: the last one)."},
      {"layout", &ArrayOptions::layout,
       choice<Layout>({{"nchw", Layout::kChw},
                       {"nhwc", Layout::kHwc},
                       {"nhw", Layout::kHw},
                       {"ncl", Layout::kChannelsLength},
                       {"nlc", Layout::kLengthChannels},
                       {"nf", Layout::kFeatures}}),
       "What the dimensions are: n samples, c channels, h height, w width, l length, f features (default: "
       "nchw, ncl "
       "or nf)."},
      {"shape", &ArrayOptions::shape, text("CHANNELSxHEIGHTxWIDTH"),
       "Shape of a sample whose numbers lie in this order, e.g. 1x28x28, whatever the array's dimensions."},
      {"targets", &ArrayOptions::targets,
       if_given(choice<TargetKind>({{"classes", TargetKind::kClasses},
                                    {"labels", TargetKind::kLabels},
                                    {"numbers", TargetKind::kNumbers}})),
       "What the targets are (default: whole numbers [N] and words are classes, whole numbers [N, K] labels, "
       "floats numbers)."},
      {"value-scale", &ArrayOptions::value_scale, number(above(0)), "Largest value of uint8 samples."},
      {"test", &ArrayOptions::test, if_given(number(at_least(0).below(1))),
       "Share of every class that becomes the test set (default: 0.2, or 0 with a test or validation set)."},
      {"validation", &ArrayOptions::validation, number(at_least(0).below(1)),
       "Share of every class that is stored as the validation set."},
      {"seed", &ArrayOptions::seed, whole<std::uint64_t>(at_least(0)), "Of the draw of these shares."}};
  return table;
}

/// Samples and targets of a part.
struct PartArrays {
  Part part;
  SourceArray x;
  SourceArray y;
};

/// The arrays of all files, looked up by name.
class ArrayCatalogue {
 public:
  explicit ArrayCatalogue(const ImportSource& source, const CsvOptions& csv) {
    for (const auto& path : source.paths) {
      for (SourceArray& array : list_arrays(path, csv)) arrays_.push_back(std::move(array));
    }
  }
  /// @param told  by the user; empty: the first of `names` that there is
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
    throw UserError("no array `" + names.front() + "`, " + listing() + ": name it by --" + key);
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
    if (found != nullptr && !found->problem.empty()) found->fail(found->problem);
    return found;
  }
  std::string listing() const {
    std::vector<std::string> names;
    for (const SourceArray& array : arrays_) names.push_back(array.name);
    return names.empty() ? "there is none" : "there are " + joined(names);
  }

  std::vector<SourceArray> arrays_;
};

std::vector<PartArrays> find_parts(const ArrayCatalogue& catalogue, const ArrayOptions& options) {
  std::vector<PartArrays> parts{{Part::kTrain, catalogue.at(options.x_train, {"x_train"}, "x-train"),
                                 catalogue.at(options.y_train, {"y_train"}, "y-train")}};
  const std::vector<std::string> val{"x_val", "x_valid", "x_validation"};
  if (const auto* x = catalogue.find(options.x_val, val)) {
    parts.push_back(
        {Part::kValidation, *x, catalogue.at(options.y_val, {"y_val", "y_valid", "y_validation"}, "y-val")});
  }
  if (const auto* x = catalogue.find(options.x_test, {"x_test"}))
    parts.push_back({Part::kTest, *x, catalogue.at(options.y_test, {"y_test"}, "y-test")});
  const SourceArray& first = parts.front().x;
  constexpr std::size_t kMostSampleValues = std::size_t{1} << 28;
  if (first.row_elements() > kMostSampleValues)
    first.fail("expected samples of at most " + std::to_string(kMostSampleValues) + " values, got " +
               std::to_string(first.row_elements()));
  for (const PartArrays& part : parts) {
    if (part.x.rows() != part.y.rows())
      part.y.fail("expected " + std::to_string(part.x.rows()) + " targets, one for each sample, got " +
                  std::to_string(part.y.rows()));
    if (!std::ranges::equal(std::span(part.x.dims).subspan(1), std::span(first.dims).subspan(1)))
      part.x.fail("expected samples of the same dimensions as in " + first.label());
    if (part.x.type.is_uint8() != first.type.is_uint8())
      part.x.fail("is " + to_text(part.x.type) + ", and " + first.label() + " is " + to_text(first.type));
  }
  return parts;
}

std::string dims_text(const SourceArray& array) {
  std::vector<std::string> dims;
  for (const std::int64_t dim : array.dims) dims.push_back(std::to_string(dim));
  return "[" + joined(dims) + "]";
}

/// The layout that the number of dimensions says, unless it may well be another one.
Layout layout_of(const SourceArray& x) {
  const auto could_be_channels = [](std::int64_t dim) { return dim == 1 || dim == 3 || dim == 4; };
  if (x.dims.size() == 4) {
    if (could_be_channels(x.dims[3]) && !could_be_channels(x.dims[1]))
      x.fail(dims_text(x) + " may have its channels last: say --layout nhwc or nchw");
    return Layout::kChw;
  }
  if (x.dims.size() < 3) return Layout::kFeatures;
  if (x.type.is_uint8()) x.fail(dims_text(x) + " may be grey images or sequences: say --layout nhw or ncl");
  return Layout::kChannelsLength;
}

space::Shape told_shape(const std::string& text, const SourceArray& x) {
  std::array<std::int64_t, 3> dims{};
  const char* place = text.data();
  const char* const end = place + text.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto read = std::from_chars(place, end, dims[i]);
    const bool ends_well = i == 2 ? read.ptr == end : read.ptr != end && *read.ptr == 'x';
    if (read.ec != std::errc() || dims[i] < 1 || dims[i] > 1 << 20 || !ends_well)
      throw UserError("--shape: expected CHANNELSxHEIGHTxWIDTH, e.g. 1x28x28, got " + text);
    place = read.ptr + (i == 2 ? 0 : 1);
  }
  const space::Shape shape{dims[0], dims[1], dims[2]};
  if (shape.elements() == static_cast<std::int64_t>(x.row_elements())) return shape;
  x.fail("expected " + std::to_string(shape.elements()) + " values per sample for --shape " + text +
         ", got " + std::to_string(x.row_elements()));
}

/// How samples lie in the array, and what becomes of them.
struct SampleLayout {
  space::Shape shape;
  bool channels_last = false;
};

SampleLayout sample_layout(const ArrayOptions& options, const SourceArray& x) {
  if (!options.shape.empty()) return {told_shape(options.shape, x)};
  const Layout layout = options.layout == Layout::kByRank ? layout_of(x) : options.layout;
  static const std::map<Layout, std::size_t> ranks{{Layout::kChw, 4},
                                                   {Layout::kHwc, 4},
                                                   {Layout::kHw, 3},
                                                   {Layout::kChannelsLength, 3},
                                                   {Layout::kLengthChannels, 3},
                                                   {Layout::kFeatures, 2}};
  const bool single = x.dims.size() == 1 && layout == Layout::kFeatures;  // one number per sample
  if (!single && x.dims.size() != ranks.at(layout))
    x.fail("expected " + std::to_string(ranks.at(layout)) + " dimensions for this layout, got " +
           dims_text(x));
  const auto& d = x.dims;
  switch (layout) {
    case Layout::kHwc:
      return {{d[3], d[1], d[2]}, true};
    case Layout::kHw:
      return {{1, d[1], d[2]}};
    case Layout::kChannelsLength:
      return {{d[1], 1, d[2]}};
    case Layout::kLengthChannels:
      return {{d[2], 1, d[1]}, true};
    case Layout::kFeatures:
      return {{single ? 1 : d[1], 1, 1}};
    default:
      return {{d[1], d[2], d[3]}};
  }
}

/// Turns rows of an array into samples of a data set. @param samples  their numbers
template <typename Value>
std::vector<Value> samples_of(const SourceArray& x, const SampleLayout& layout,
                              std::span<const std::byte> rows, std::span<const std::size_t> samples) {
  std::vector<Value> values(rows.size() / x.type.bytes);
  if constexpr (std::is_same_v<Value, float>) {
    to_floats(x.type, rows, values);
    const auto wrong = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
    if (wrong != values.end()) {
      const auto place = static_cast<std::size_t>(wrong - values.begin());
      x.fail("sample " + std::to_string(samples[place / x.row_elements()]) + ": a number that is not finite");
    }
  } else {
    std::ranges::transform(rows, values.begin(), [](std::byte byte) { return static_cast<Value>(byte); });
  }
  if (!layout.channels_last) return values;
  std::vector<Value> turned(values.size());
  const auto channels = static_cast<std::size_t>(layout.shape.channels);
  const std::size_t plane = static_cast<std::size_t>(layout.shape.elements()) / channels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t sample = i / (channels * plane);
    const std::size_t within = i % (channels * plane);
    turned[sample * channels * plane + within % channels * plane + within / channels] = values[i];
  }
  return turned;
}

/// Reads arrays into a data set.
class ArrayImport {
 public:
  ArrayImport(const ImportSource& source, DatasetWriter& writer)
      : options_(array_keys().parse(source.options)),
        writer_(writer),
        parts_(find_parts(ArrayCatalogue(source, {options_.label}), options_)),
        layout_(sample_layout(options_, parts_.front().x)) {}

  void run() {
    std::vector<SourceArray> arrays;
    for (const PartArrays& part : parts_) arrays.push_back(part.y);
    TargetSet set = read_targets(arrays, options_.targets);
    targets_ = std::move(set.targets);
    draw();
    std::string source = "arrays of " + parts_.front().x.file.filename().string();
    if (const std::string drawn = draw_text(shares_); !drawn.empty()) {
      source += "; " + drawn;
      log::info(drawn);
    }
    const bool pixels = parts_.front().x.type.is_uint8();
    writer_.describe({layout_.shape, std::move(set.names), source, pixels ? options_.value_scale : 1});
    check_room();
    for (const Part part : kAllParts) add(part);
  }

 private:
  void draw();
  void check_room() const;
  void add(Part part);
  void add_rows(Part part, const PartArrays& from, const ArrayTargets& targets);
  bool takes(const PartArrays& from, std::size_t row, Part part) const {
    return (from.part == Part::kTrain ? drawn_[row] : from.part) == part;
  }

  ArrayOptions options_;
  DatasetWriter& writer_;
  std::vector<PartArrays> parts_;  // train first
  SampleLayout layout_;
  std::vector<ArrayTargets> targets_;  // of each of parts_
  PartShares shares_;
  std::vector<Part> drawn_;  // part of each row of the training array
};

void ArrayImport::draw() {
  shares_ = {options_.test.value_or(parts_.size() > 1 ? 0 : 0.2), options_.validation, options_.seed};
  for (const PartArrays& part : parts_) {
    const double share = part.part == Part::kTest ? shares_.test : shares_.validation;
    if (part.part != Part::kTrain && share > 0)
      throw UserError(part.x.label() + " is the " + to_text(part.part) + " set, so leave out --" +
                      to_text(part.part));
  }
  drawn_ = draw_parts(targets_.front().labels(), shares_);
}

void ArrayImport::check_room() const {
  const std::size_t value_bytes = parts_.front().x.type.is_uint8() ? 1 : sizeof(float);
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
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * row_bytes);
      bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes));
    }
    const ArrayTargets some = targets.of(taken);
    SampleView view;
    view.count = taken.size();
    std::visit([&view](const auto& values) { view.targets = std::span(values); }, some.values);
    if (from.x.type.is_uint8()) {
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
  void import(const ImportSource& source, DatasetWriter& writer) const override {
    ArrayImport(source, writer).run();
  }
};

}  // namespace

std::shared_ptr<const Importer> arrays_importer() {
  return std::make_shared<ArraysImporter>();
}

}  // namespace skyline::store

#include "store/data/mapped_dataset.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/preparation.hpp"
#include "store/data/channel_moments.hpp"
#include "store/data/dataset_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

namespace skyline::store {
namespace {

[[noreturn]] void fail_on_file(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

constexpr std::string_view kDatasetKind = "data set (skyline prep makes one)";

/// Returns whether an HDF5 file of another program says that it is a data set.
bool says_dataset(const Hdf5Reader& reader) {
  try {
    return reader.has_attribute("format") && reader.text_attribute("format") == kDatasetFormat;
  } catch (const UserError&) {  // the attribute is not text
    return false;
  }
}

}  // namespace

MappedDataset::MappedDataset(const std::filesystem::path& path)
    : path_(path),
      file_(path),
      checked_(file_.version()),
      sealed_(!is_plain_hdf5(file_.bytes())),
      seal_(sealed_ ? check_seal(file_.bytes(), kDatasetFormat, kDatasetKind, path) : Seal{}) {}

MappedDataset::MappedDataset(const std::filesystem::path& path, bool sealed)
    : path_(path), file_(path), checked_(file_.version()), sealed_(sealed) {}

MappedDataset MappedDataset::before_seal(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::size_t behind = std::min(file.bytes().size(), kSealBytes);
  const bool is_empty =
      std::ranges::all_of(file.bytes().first(behind), [](std::byte byte) { return byte == std::byte{0}; });
  if (!is_empty || !is_plain_hdf5(file.bytes().subspan(behind))) {
    fail_on_file(path, "expected HDF5 behind " + std::to_string(kSealBytes) + " empty bytes for the seal");
  }
  return {path, false};
}

void MappedDataset::read() {
  const Hdf5Reader reader(path_, file_.descriptor());
  read_layout(reader);
  if (!sealed_) return read_unsealed();
  mean_ = reader.numbers("mean");
  deviation_ = reader.numbers("deviation");
  check_channels("mean", mean_.size());
  check_channels("deviation", deviation_.size());
  content_hash_ = store::content_hash(file_.bytes(), seal_);
}

void MappedDataset::read_layout() {
  read_layout(Hdf5Reader(path_, file_.descriptor()));
}

void MappedDataset::read_layout(const Hdf5Reader& reader) {
  if (!sealed_ && !says_dataset(reader)) {
    fail_on_file(
        path_, "this HDF5 file was not written by Skyline, expected a Skyline " + std::string(kDatasetKind));
  }
  reader.check_version("data set", kDatasetVersion, " (make it again with skyline prep)");
  read_shape(reader);
  class_names_ = reader.texts("class_names");
  if (class_names_.empty()) fail_on_file(path_, "class_names: expected at least one, got none");
  read_value_scale(reader);
  read_preparation(reader);
  read_split(reader);
  map_part(reader, "train", train_);
  map_groups(reader);
  if (sealed_ || reader.has("validation")) map_part(reader, "validation", validation_);
  if (sealed_ || reader.has("test")) map_part(reader, "test", test_);
}

void MappedDataset::read_value_scale(const Hdf5Reader& reader) {
  value_scale_ = reader.number_attribute<double>("value_scale");
  if (value_scale_ > 0 && std::isfinite(value_scale_)) return;
  fail_on_file(path_,
               "attribute `value_scale`: expected a number above 0, got " + std::to_string(value_scale_));
}

/// Checks a preparation that others may have written.
void MappedDataset::read_preparation(const Hdf5Reader& reader) {
  if (!reader.has("preparation")) return;
  preparation_ = joined(reader.texts("preparation"));
  if (sealed_) return;
  try {
    const Preparation preparation = store::read_preparation(preparation_);
    if (!preparation.makes(shape_.elements())) {
      throw UserError("expected " + std::to_string(shape_.elements()) + " features, got " +
                      std::to_string(preparation.features.size()));
    }
  } catch (const UserError& error) {
    fail_on_file(path_, std::string("preparation: ") + error.what());
  }
}

/// Reads every value of a file that was not read before.
void MappedDataset::read_unsealed() {
  std::optional<UnsealedFacts> facts = known_facts(path_, checked_);
  if (!facts) {
    check_all_values();
    facts = find_facts();
    keep_facts(path_, checked_, *facts);
  }
  seal_ = std::move(facts->seal);
  mean_ = std::move(facts->mean);
  deviation_ = std::move(facts->deviation);
  check_channels("mean", mean_.size());
  check_channels("deviation", deviation_.size());
  std::string content = seal_text(seal_) + space::to_text(shape_) + " " + std::to_string(value_scale_);
  for (const std::string& name : class_names_) content += "\n" + name;
  content_hash_ = sha256_hex(content);
}

UnsealedFacts MappedDataset::find_facts() const {
  std::vector<Seal::Array> large = arrays_;
  std::erase_if(large, [](const Seal::Array& array) { return array.name == kGroupsName; });
  ChannelMoments moments(static_cast<std::size_t>(shape_.channels),
                         static_cast<std::size_t>(shape_.height * shape_.width), value_scale_);
  std::visit([&moments](auto values) { moments.add(values); }, train_.view.values);
  return {describe_file({file_.bytes()}, kDatasetFormat, std::move(large)), moments.mean(),
          moments.deviation()};
}

void MappedDataset::check_all_values() const {
  check_values(train_.view, class_names_.size(), "train", path_);
  check_values(validation_.view, class_names_.size(), "validation", path_);
  check_values(test_.view, class_names_.size(), "test", path_);
}

void MappedDataset::read_shape(const Hdf5Reader& reader) {
  const std::vector<std::int64_t> dims = reader.array_dims("train/values");
  if (dims.size() != 4)
    fail_on_file(path_, "train/values: expected 4 dimensions, got " + std::to_string(dims.size()));
  (void)size_of("train/values", dims);
  (void)size_of("train/values", std::span(dims).subspan(1));  // there may be no samples
  if (dims[1] > kMostChannels)
    fail_on_file(path_, "train/values: more than " + std::to_string(kMostChannels) + " channels");
  shape_ = {dims[1], dims[2], dims[3]};
  if (shape_.elements() == 0) fail_on_file(path_, "train/values: samples of shape " + space::to_text(shape_));
}

void MappedDataset::check_channels(const char* name, std::size_t values) const {
  const auto channels = static_cast<std::size_t>(shape_.channels);
  if (values == channels) return;
  fail_on_file(path_, std::string(name) + ": expected a value for each of " + std::to_string(channels) +
                          " channels, got " + std::to_string(values));
}

void MappedDataset::check_unchanged() const {
  const std::lock_guard lock(mutex_);
  store::check_unchanged(file_, seal_, path_, checked_);
}

void MappedDataset::map_part(const Hdf5Reader& reader, const std::string& part, MappedPart& mapped) {
  const std::string name = part + "/values";
  const std::vector<std::int64_t> dims = reader.array_dims(name);
  if (dims.size() != 4 || dims != std::vector{dims[0], shape_.channels, shape_.height, shape_.width}) {
    fail_on_file(path_, name + ": expected samples of shape " + space::to_text(shape_));
  }
  const std::size_t size = size_of(name, dims);
  mapped.view.count = static_cast<std::size_t>(dims[0]);
  if (reader.has_type("train/values", H5T_STD_U8LE)) {
    mapped.view.values = map_array<std::uint8_t>(reader, name, H5T_STD_U8LE, size);
  } else {
    mapped.view.values = map_array<float>(reader, name, H5T_IEEE_F32LE, size);
  }
  map_targets(reader, part, mapped);
}

void MappedDataset::map_targets(const Hdf5Reader& reader, const std::string& part, MappedPart& mapped) {
  const std::string name = part + "/targets";
  const std::vector<std::int64_t> dims = reader.array_dims(name);
  const auto count = static_cast<std::int64_t>(mapped.view.count);
  const auto outputs = static_cast<std::int64_t>(class_names_.size());
  const bool classes = reader.has_type("train/targets", H5T_STD_I32LE);
  if (!classes && !reader.has_type("train/targets", H5T_STD_U8LE) &&
      !reader.has_type("train/targets", H5T_IEEE_F32LE))
    fail_on_file(path_, "train/targets: expected int32 for classes, uint8 for labels or float32 for numbers");
  if (dims != (classes ? std::vector{count} : std::vector{count, outputs})) {
    fail_on_file(path_, name + ": expected " + std::to_string(count) + " classes, or as many rows of " +
                            std::to_string(outputs) + " labels or numbers");
  }
  const std::size_t size = size_of(name, dims);
  if (classes) {
    const auto stored = map_array<std::int32_t>(reader, name, H5T_STD_I32LE, size);
    mapped.classes.assign(stored.begin(), stored.end());
    mapped.view.targets = std::span<const std::int32_t>(mapped.classes);
    check_classes(mapped.view, class_names_.size(), part, path_);
  } else if (reader.has_type("train/targets", H5T_STD_U8LE)) {
    mapped.view.targets = map_array<std::uint8_t>(reader, name, H5T_STD_U8LE, size);
  } else {
    mapped.view.targets = map_array<float>(reader, name, H5T_IEEE_F32LE, size);
  }
}

void MappedDataset::read_split(const Hdf5Reader& reader) {
  if (!reader.has_attribute(kSplitAttribute)) return;
  const std::string split = reader.text_attribute(kSplitAttribute);
  if (split != kSplitLast) {
    fail_on_file(path_, "attribute `" + std::string(kSplitAttribute) + "`: expected `" +
                            std::string(kSplitLast) + "`, got `" + printable(split) + "`");
  }
  in_time_order_ = true;
}

void MappedDataset::map_groups(const Hdf5Reader& reader) {
  if (!reader.has(kGroupsName)) return;
  const auto count = static_cast<std::int64_t>(train_.view.count);
  if (reader.array_dims(kGroupsName) != std::vector{count}) {
    fail_on_file(path_, std::string(kGroupsName) + ": expected " + std::to_string(count) +
                            " numbers, one for each sample");
  }
  train_.view.groups = map_array<std::int32_t>(reader, kGroupsName, H5T_STD_I32LE, train_.view.count);
}

/// Returns the number of values of an array. @throws UserError if the file has fewer bytes
std::size_t MappedDataset::size_of(const std::string& name, std::span<const std::int64_t> dims) const {
  std::size_t size = 1;
  for (const std::int64_t dim : dims) {
    const auto factor = static_cast<std::size_t>(dim);
    if (factor > 0 && size > file_.bytes().size() / factor) {
      fail_on_file(path_, name + ": claims more values than the file has bytes for");
    }
    size *= factor;
  }
  return size;
}

template <typename T>
std::span<const T> MappedDataset::map_array(const Hdf5Reader& reader, const std::string& name, hid_t type,
                                            std::size_t size) {
  if (size == 0) return {};
  const std::uint64_t offset = reader.array_offset(name, type);
  const std::span<const std::byte> bytes = file_.bytes();
  if (offset > bytes.size() || size > (bytes.size() - offset) / sizeof(T)) {
    fail_on_file(path_, name + ": not where the file says that it is");
  }
  arrays_.push_back({name, offset, size * sizeof(T), {}});
  if (offset % alignof(T) != 0) {  // another program may not have aligned it
    log::warning(path_.string() + ": " + name +
                 ": its bytes lie at an odd place, so this process keeps a copy (" +
                 counted((size * sizeof(T) >> 20U) + 1, "MiB") + ")");
    const auto copy = std::make_shared<std::vector<T>>(size);
    std::memcpy(copy->data(), bytes.data() + offset, size * sizeof(T));
    copies_.push_back(copy);
    return *copy;
  }
  return {reinterpret_cast<const T*>(bytes.data() + offset), size};
}

bool Dataset::recognizes(const std::filesystem::path& path) {
  const MappedFile file(path);
  if (!is_plain_hdf5(file.bytes())) return is_sealed(file.bytes());
  return says_dataset(Hdf5Reader(path, file.descriptor()));
}

std::shared_ptr<const Dataset> Dataset::open(const std::filesystem::path& path, bool verify,
                                             const std::function<bool()>& stop_requested) {
  const auto dataset = std::make_shared<MappedDataset>(path);
  if (verify && dataset->is_sealed() && !dataset->check_contents(stop_requested)) return nullptr;
  dataset->read();
  if (verify && !dataset->is_sealed() && !dataset->check_contents(stop_requested)) return nullptr;
  if (verify) dataset->check_all_values();
  return dataset;
}

}  // namespace skyline::store

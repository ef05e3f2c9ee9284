#include "skyline/store/dataset.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "store/data/mapped_file.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/publish/sealed_file.hpp"

#include <array>
#include <cmath>
#include <mutex>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::string_view kDatasetFormat = "skyline-dataset";
constexpr std::int64_t kDatasetVersion = 1;

[[noreturn]] void fail_on_file(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

/// @throws UserError unless every label names a class
void check_labels(std::span<const std::int32_t> labels, std::size_t classes, const std::string& part,
                  const std::filesystem::path& path) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0 && static_cast<std::size_t>(labels[i]) < classes) continue;
    fail_on_file(path, part + " label number " + std::to_string(i) + ": expected 0 to " +
                           std::to_string(classes - 1) + ", got " + std::to_string(labels[i]));
  }
}

void check_set(const ImageSet& set, const DatasetContents& contents, const std::string& part,
               const std::filesystem::path& path) {
  const auto expected = set.labels.size() * static_cast<std::size_t>(contents.shape.elements());
  if (set.images.size() != expected) {
    fail_on_file(path, part + " images: expected " + std::to_string(expected) + " pixels for " +
                           std::to_string(set.labels.size()) + " labels of shape " +
                           space::to_text(contents.shape) + ", got " + std::to_string(set.images.size()));
  }
  check_labels(set.labels, contents.class_names.size(), part, path);
}

struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// Computed from counts of the 256 pixel values, so that the sums do not depend on the order of the images.
ChannelMoments channel_moments(const DatasetContents& contents) {
  const auto channels = static_cast<std::size_t>(contents.shape.channels);
  const auto plane = static_cast<std::size_t>(contents.shape.height * contents.shape.width);
  std::vector<std::array<std::uint64_t, 256>> counts(channels);
  const std::vector<std::uint8_t>& pixels = contents.train.images;
  for (std::size_t i = 0; i < pixels.size(); ++i) ++counts[i / plane % channels][pixels[i]];

  const std::size_t pixels_of_channel = pixels.size() / channels;
  const auto samples = static_cast<double>(pixels_of_channel);
  ChannelMoments moments;
  for (const auto& count : counts) {
    double sum = 0;
    for (std::size_t value = 0; value < 256; ++value) {
      sum += static_cast<double>(count[value]) * static_cast<double>(value) / contents.value_scale;
    }
    const double mean = sum / samples;
    double squares = 0;
    for (std::size_t value = 0; value < 256; ++value) {
      const double difference = static_cast<double>(value) / contents.value_scale - mean;
      squares += static_cast<double>(count[value]) * difference * difference;
    }
    const double deviation = std::sqrt(squares / samples);
    moments.mean.push_back(mean);
    moments.deviation.push_back(deviation > 0 ? deviation : 1);
  }
  return moments;
}

/// Writes images and labels of a part and tells the seal where they are.
void write_part(Hdf5Image& image, const std::string& part, const ImageSet& set, const space::Shape& shape,
                std::vector<Seal::Array>& arrays) {
  image.make_group(part);
  const hsize_t count = set.labels.size();
  const hsize_t dims[] = {count, static_cast<hsize_t>(shape.channels), static_cast<hsize_t>(shape.height),
                          static_cast<hsize_t>(shape.width)};
  const std::string images = part + "/images";
  const std::string labels = part + "/labels";
  image.refer_array(images, H5T_STD_U8LE, dims, std::as_bytes(std::span(set.images)));
  image.refer_array(labels, H5T_STD_I32LE, std::span(dims).first(1), std::as_bytes(std::span(set.labels)));
  const auto sum = [](const auto& values) { return sha256_hex(std::as_bytes(std::span(values))); };
  image.write_attribute(images, "sha256", sum(set.images));
  image.write_attribute(labels, "sha256", sum(set.labels));
  if (count == 0) return;
  arrays.push_back({images, image.array_offset(images), set.images.size(), {}});
  arrays.push_back({labels, image.array_offset(labels), set.labels.size() * sizeof(std::int32_t), {}});
}

class MappedDataset final : public Dataset {
 public:
  /// Maps the file and checks its seal.
  explicit MappedDataset(const std::filesystem::path& path);
  /// @return  false if it was stopped
  bool check_contents(const std::function<bool()>& stop_requested) const {
    return check_arrays(file_.bytes(), seal_, path_, stop_requested);
  }
  void read();

  const space::Shape& shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const std::vector<double>& mean() const override { return mean_; }
  const std::vector<double>& deviation() const override { return deviation_; }
  double value_scale() const override { return value_scale_; }
  const MappedImages& train() const override { return train_; }
  const MappedImages& test() const override { return test_; }
  const std::string& content_hash() const override { return content_hash_; }
  void check_unchanged() const override;

 private:
  void read_shape(const Hdf5Reader& reader);
  void check_channels(const char* name, std::size_t values) const;
  MappedImages map_part(const Hdf5Reader& reader, const std::string& part,
                        std::vector<std::int32_t>& labels) const;
  template <typename T>
  std::span<const T> map_array(const Hdf5Reader& reader, const std::string& name, hid_t type,
                               std::size_t count) const;

  std::filesystem::path path_;
  MappedFile file_;
  mutable MappedFile::Version checked_;  // guarded by mutex_
  Seal seal_;
  space::Shape shape_;
  std::vector<std::string> class_names_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  double value_scale_ = 0;
  // Copies: a label is an index, which nobody may change after it was checked.
  std::vector<std::int32_t> train_labels_;
  std::vector<std::int32_t> test_labels_;
  MappedImages train_;
  MappedImages test_;
  std::string content_hash_;
  mutable std::mutex mutex_;
};

MappedDataset::MappedDataset(const std::filesystem::path& path)
    : path_(path),
      file_(path),
      checked_(file_.version()),
      seal_(check_seal(file_.bytes(), kDatasetFormat, "data set (skyline prep makes one)", path)) {}

void MappedDataset::read() {
  const Hdf5Reader reader(path_, file_.descriptor());
  reader.check_version("data set", kDatasetVersion, " (make it again with skyline prep)");
  read_shape(reader);
  class_names_ = reader.texts("class_names");
  mean_ = reader.numbers("mean");
  deviation_ = reader.numbers("deviation");
  check_channels("mean", mean_.size());
  check_channels("deviation", deviation_.size());
  value_scale_ = reader.number_attribute<double>("value_scale");
  train_ = map_part(reader, "train", train_labels_);
  test_ = map_part(reader, "test", test_labels_);
  content_hash_ = store::content_hash(file_.bytes(), seal_);
}

void MappedDataset::read_shape(const Hdf5Reader& reader) {
  const std::vector<std::int64_t> dims = reader.array_dims("train/images");
  if (dims.size() != 4)
    fail_on_file(path_, "train/images: expected 4 dimensions, got " + std::to_string(dims.size()));
  shape_ = {dims[1], dims[2], dims[3]};
}

void MappedDataset::check_channels(const char* name, std::size_t values) const {
  const auto channels = static_cast<std::size_t>(shape_.channels);
  if (values == channels) return;
  fail_on_file(path_, std::string(name) + ": expected a value for each of " + std::to_string(channels) +
                          " channels, got " + std::to_string(values));
}

/// Somebody who only touches the file does no harm.
void MappedDataset::check_unchanged() const {
  const MappedFile::Version now = file_.version();
  const std::lock_guard lock(mutex_);
  if (now == checked_) return;
  try {
    if (now.bytes < file_.bytes().size()) fail_on_file(path_, "is shorter than it was");
    check_arrays(file_.bytes(), seal_, path_, [] { return false; });
  } catch (const UserError&) {
    fail_on_file(path_, "was overwritten during the run: restore it, and run again with --resume");
  }
  checked_ = now;
}

MappedImages MappedDataset::map_part(const Hdf5Reader& reader, const std::string& part,
                                     std::vector<std::int32_t>& labels) const {
  const std::vector<std::int64_t> dims = reader.array_dims(part + "/images");
  const std::vector<std::int64_t> expected = {dims[0], shape_.channels, shape_.height, shape_.width};
  if (dims != expected || reader.array_dims(part + "/labels") != std::vector{dims[0]}) {
    fail_on_file(path_, part + ": images and labels do not have the expected shapes");
  }
  const auto count = static_cast<std::size_t>(dims[0]);
  const std::size_t pixels = count * static_cast<std::size_t>(shape_.elements());
  const auto mapped = map_array<std::int32_t>(reader, part + "/labels", H5T_STD_I32LE, count);
  labels.assign(mapped.begin(), mapped.end());
  check_labels(labels, class_names_.size(), part, path_);
  return {map_array<std::uint8_t>(reader, part + "/images", H5T_STD_U8LE, pixels), labels};
}

template <typename T>
std::span<const T> MappedDataset::map_array(const Hdf5Reader& reader, const std::string& name, hid_t type,
                                            std::size_t count) const {
  if (count == 0) return {};
  const std::uint64_t offset = reader.array_offset(name, type);
  const std::span<const std::byte> bytes = file_.bytes();
  if (offset % alignof(T) != 0 || offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T)) {
    fail_on_file(path_, name + ": not where the file says that it is");
  }
  return {reinterpret_cast<const T*>(bytes.data() + offset), count};
}

}  // namespace

void write_dataset(const std::filesystem::path& path, const DatasetContents& contents) {
  if (contents.train.labels.empty()) fail_on_file(path, "the training set is empty");
  if (contents.shape.elements() <= 0) fail_on_file(path, "images of shape " + space::to_text(contents.shape));
  check_set(contents.train, contents, "train", path);
  check_set(contents.test, contents, "test", path);

  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "format", kDatasetFormat);
  image.write_attribute("/", "version", kDatasetVersion);
  image.write_attribute("/", "source", contents.source);
  image.write_attribute("/", "value_scale", contents.value_scale);
  image.write_texts("class_names", contents.class_names);
  const ChannelMoments moments = channel_moments(contents);
  const hsize_t channels[] = {static_cast<hsize_t>(contents.shape.channels)};
  image.refer_array("mean", H5T_NATIVE_DOUBLE, channels, std::as_bytes(std::span(moments.mean)));
  image.refer_array("deviation", H5T_NATIVE_DOUBLE, channels, std::as_bytes(std::span(moments.deviation)));
  std::vector<Seal::Array> arrays;
  write_part(image, "train", contents.train, contents.shape, arrays);
  write_part(image, "test", contents.test, contents.shape, arrays);
  publish_sealed(image, kDatasetFormat, std::move(arrays));
}

std::shared_ptr<const Dataset> Dataset::open(const std::filesystem::path& path, bool verify,
                                             const std::function<bool()>& stop_requested) {
  const auto dataset = std::make_shared<MappedDataset>(path);
  if (verify && !dataset->check_contents(stop_requested)) return nullptr;
  dataset->read();
  return dataset;
}

}  // namespace skyline::store

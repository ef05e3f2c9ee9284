#include "skyline/core/error.hpp"

#include "store/import/known_sets.hpp"
#include "store/import/plain_or_gzip.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace skyline::store {
namespace {

constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kLabelsMagic = 0x00000801;
constexpr int kMnistClasses = 10;
/// No real file has so many values, and the product with another 32-bit size still fits.
constexpr std::size_t kLargestCount = std::size_t{1} << 31;

std::string hex(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

constexpr std::size_t kIdxWordBytes = 4;

std::uint32_t idx_word(std::string_view text, std::size_t index) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kIdxWordBytes; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(text[kIdxWordBytes * index + i]);
  }
  return value;
}

std::size_t idx_header_bytes(std::uint32_t magic) {
  return kIdxWordBytes * (1 + (magic & 0xff));
}

/// Returns the size of an IDX file by the dimensions in its header.
/// @param header  start of the file, with at least the whole header
std::size_t idx_bytes(std::string_view header, std::uint32_t magic) {
  std::size_t values = 1;
  for (std::size_t i = 1; i <= (magic & 0xff); ++i)
    values = std::min(values, kLargestCount) * idx_word(header, i);
  return idx_header_bytes(magic) + values;
}

/// An IDX file of bytes: a magic number, then each dimension as a big-endian 32-bit number, then the values.
class IdxFile {
 public:
  IdxFile(const std::filesystem::path& path, std::uint32_t magic)
      : path_(path), content_(read_plain_or_gzip(path, [magic](std::string_view start) {
          return idx_word(start, 0) == magic ? std::min(idx_bytes(start, magic), kLargestCount) : 0;
        })) {
    if (content_.size() < kIdxWordBytes)
      fail("truncated: expected an IDX header, got " + bytes_text(content_.size()));
    const std::uint32_t found = idx_word(content_, 0);
    if (found != magic) fail("wrong IDX magic: expected " + hex(magic) + ", got " + hex(found));
    header_bytes_ = idx_header_bytes(magic);
    if (content_.size() < header_bytes_) {
      fail("truncated: expected a header of " + bytes_text(header_bytes_) + ", got " +
           bytes_text(content_.size()));
    }
    for (std::size_t i = 1; i <= (magic & 0xff); ++i) {
      dims_.push_back(idx_word(content_, i));
      if (dims_.back() == 0) fail("a dimension of size 0");
    }
    const std::size_t expected = idx_bytes(content_, magic);
    if (content_.size() < expected) {
      fail("truncated: expected " + bytes_text(expected) + ", got " + bytes_text(content_.size()));
    }
    if (content_.size() > expected) fail("too long: expected " + bytes_text(expected) + ", got more");
  }

  const std::vector<std::int64_t>& dims() const { return dims_; }
  const std::filesystem::path& path() const { return path_; }
  std::string_view values() const { return std::string_view(content_).substr(header_bytes_); }
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(path_.string() + ": " + message);
  }

 private:
  static std::string bytes_text(std::size_t count) { return std::to_string(count) + " bytes"; }

  std::filesystem::path path_;
  std::string content_;
  std::size_t header_bytes_ = 0;
  std::vector<std::int64_t> dims_;
};

/// Finds the file with a hyphen or with a dot before "idx"; both are published.
IdxFile find_idx(const std::filesystem::path& folder, const std::string& what, const std::string& kind,
                 std::uint32_t magic) {
  return {find_plain_or_gzip(folder, {what + "-" + kind, what + "." + kind}), magic};
}

Samples import_part(const std::filesystem::path& folder, const std::string& part, space::Shape& shape) {
  const IdxFile images = find_idx(folder, part + "-images", "idx3-ubyte", kImagesMagic);
  const IdxFile labels = find_idx(folder, part + "-labels", "idx1-ubyte", kLabelsMagic);
  if (images.dims()[0] != labels.dims()[0]) {
    labels.fail("expected " + std::to_string(images.dims()[0]) + " labels, as many as images in " +
                images.path().filename().string() + ", got " + std::to_string(labels.dims()[0]));
  }
  shape = {1, images.dims()[1], images.dims()[2]};
  Samples set;
  set.pixels().assign(images.values().begin(), images.values().end());
  for (const char value : labels.values()) {
    const auto label = static_cast<std::uint8_t>(value);
    if (label >= kMnistClasses) {
      labels.fail("label number " + std::to_string(set.classes().size()) + ": expected 0 to 9, got " +
                  std::to_string(label));
    }
    set.classes().push_back(label);
  }
  return set;
}

/// Returns the folder with the files: torchvision keeps them in `MNIST/raw`.
/// @param name  folder of the set
std::filesystem::path idx_folder(const std::filesystem::path& folder, const char* name) {
  for (const std::filesystem::path& place : {folder, folder / "raw", folder / name / "raw", folder / name}) {
    if (!look_for_plain_or_gzip(place, {"train-images-idx3-ubyte", "train-images.idx3-ubyte"}).empty())
      return place;
  }
  return folder;
}

DatasetContents import_idx_set(const std::filesystem::path& given, const char* name,
                               const std::string& source) {
  check_folder(given);
  const std::filesystem::path folder = idx_folder(given, name);
  DatasetContents contents;
  contents.source = source;
  contents.train = import_part(folder, "train", contents.shape);
  space::Shape test_shape;
  contents.test = import_part(folder, "t10k", test_shape);
  if (test_shape != contents.shape) {
    throw UserError(folder.string() + ": test images are " + space::to_text(test_shape) +
                    ", training images " + space::to_text(contents.shape));
  }
  return contents;
}

}  // namespace

DatasetContents import_mnist(const std::filesystem::path& folder) {
  DatasetContents contents = import_idx_set(
      folder, "MNIST", "MNIST handwritten digits (Y. LeCun, C. Cortes, C. J. C. Burges), IDX files");
  for (int i = 0; i < kMnistClasses; ++i) contents.class_names.push_back(std::to_string(i));
  return contents;
}

DatasetContents import_fashion_mnist(const std::filesystem::path& folder) {
  DatasetContents contents = import_idx_set(
      folder, "FashionMNIST", "Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf, 2017), MIT licence, IDX files");
  contents.class_names = {"T-shirt/top", "trouser", "pullover", "dress", "coat",
                          "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};
  return contents;
}

}  // namespace skyline::store

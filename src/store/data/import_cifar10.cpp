#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "store/data/plain_or_gzip.hpp"
#include "store/publish/publish.hpp"

#include <sstream>
#include <system_error>

namespace skyline::store {
namespace {

constexpr space::Shape kShape{3, 32, 32};
constexpr std::size_t kCifarPixels = std::size_t{3} * 32 * 32;
constexpr std::size_t kRecordBytes = 1 + kCifarPixels;
constexpr std::size_t kCifarClasses = 10;

std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  }
  std::istringstream lines(read_file(path));
  std::vector<std::string> names;
  for (std::string name; lines >> name;) names.push_back(name);
  if (names.size() != kCifarClasses) {
    throw UserError(path.string() + ": expected 10 class names, got " + std::to_string(names.size()));
  }
  return names;
}

void append_batch(const std::filesystem::path& path, Samples& set) {
  const std::string content = read_file(path);
  if (content.empty() || content.size() % kRecordBytes != 0) {
    throw UserError(path.string() + ": truncated: expected a multiple of 3073 bytes, got " +
                    std::to_string(content.size()));
  }
  for (std::size_t place = 0; place < content.size(); place += kRecordBytes) {
    const auto label = static_cast<std::uint8_t>(content[place]);
    if (label >= kCifarClasses) {
      throw UserError(path.string() + ": label number " + std::to_string(place / kRecordBytes) +
                      ": expected 0 to 9, got " + std::to_string(label));
    }
    set.classes().push_back(label);
    const char* pixels = content.data() + place + 1;
    set.pixels().insert(set.pixels().end(), pixels, pixels + kCifarPixels);
  }
}

}  // namespace

DatasetContents import_cifar10(const std::filesystem::path& folder) {
  check_folder(folder);
  std::error_code error;
  std::filesystem::path place = folder;
  if (!std::filesystem::exists(folder / "data_batch_1.bin", error)) place /= "cifar-10-batches-bin";
  if (!std::filesystem::exists(place / "data_batch_1.bin", error)) {
    throw UserError(
        folder.string() +
        ": expected data_batch_1.bin here or in cifar-10-batches-bin (the binary version of CIFAR-10)");
  }
  DatasetContents contents;
  contents.shape = kShape;
  contents.source = "CIFAR-10 (A. Krizhevsky, 2009), binary version";
  contents.class_names = read_class_names(place / "batches.meta.txt");
  for (int i = 1; i <= 5; ++i)
    append_batch(place / ("data_batch_" + std::to_string(i) + ".bin"), contents.train);
  append_batch(place / "test_batch.bin", contents.test);
  return contents;
}

}  // namespace skyline::store

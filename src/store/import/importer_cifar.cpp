#include "skyline/core/error.hpp"

#include "store/import/known_sets.hpp"
#include "store/import/plain_or_gzip.hpp"
#include "store/publish/publish.hpp"

#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCifarPixels = std::size_t{3} * 32 * 32;

/// One of the two binary versions: records of label bytes and pixels.
struct CifarVersion {
  std::string name;
  std::string folder;              // folder in its archive
  std::string python_folder;       // folder in the archive of the version for Python
  std::string python_file;         // a file of that version
  std::vector<std::string> train;  // files
  std::string test;
  std::string names;  // file of the class names
  std::size_t classes = 0;
  std::size_t label_bytes = 0;  // only the last of them is used
};

std::vector<std::string> read_class_names(const fs::path& path, std::size_t classes) {
  std::istringstream lines(read_file(path));
  std::vector<std::string> names;
  for (std::string name; lines >> name;) names.push_back(name);
  if (names.size() == classes) return names;
  throw UserError(path.string() + ": expected " + std::to_string(classes) + " class names, got " +
                  std::to_string(names.size()));
}

void append_batch(const fs::path& path, const CifarVersion& version, Samples& set) {
  const std::string content = read_file(path);
  const std::size_t record = version.label_bytes + kCifarPixels;
  if (content.empty() || content.size() % record != 0) {
    throw UserError(path.string() + ": truncated: expected a multiple of " + std::to_string(record) +
                    " bytes, got " + std::to_string(content.size()));
  }
  for (std::size_t place = 0; place < content.size(); place += record) {
    const auto label = static_cast<std::uint8_t>(content[place + version.label_bytes - 1]);
    if (label >= version.classes) {
      throw UserError(path.string() + ": label number " + std::to_string(place / record) +
                      ": expected 0 to " + std::to_string(version.classes - 1) + ", got " +
                      std::to_string(label));
    }
    set.classes().push_back(label);
    const char* pixels = content.data() + place + version.label_bytes;
    set.pixels().insert(set.pixels().end(), pixels, pixels + kCifarPixels);
  }
}

DatasetContents import_cifar(const fs::path& folder, const CifarVersion& version,
                             const std::vector<std::string>& default_names) {
  check_folder(folder);
  std::error_code error;
  fs::path place = folder;
  if (!fs::exists(folder / version.train.front(), error)) place /= version.folder;
  if (!fs::exists(place / version.train.front(), error)) {
    for (const fs::path& found :
         {folder / version.python_file, folder / version.python_folder / version.python_file}) {
      if (fs::is_regular_file(found, error))
        throw UserError(found.parent_path().string() + ": the Python version of " + version.name +
                        ", expected the binary version, which is offered beside it");
    }
    throw UserError(folder.string() + ": expected " + version.train.front() + " here or in " +
                    version.folder + " (the binary version of " + version.name + ")");
  }
  DatasetContents contents;
  contents.shape = {3, 32, 32};
  contents.source = version.name + " (A. Krizhevsky, 2009), binary version";
  contents.class_names = default_names;
  if (default_names.empty() || fs::exists(place / version.names, error))
    contents.class_names = read_class_names(place / version.names, version.classes);
  for (const std::string& file : version.train) append_batch(place / file, version, contents.train);
  append_batch(place / version.test, version, contents.test);
  return contents;
}

}  // namespace

DatasetContents import_cifar10(const fs::path& folder) {
  const CifarVersion version{
      "CIFAR-10",
      "cifar-10-batches-bin",
      "cifar-10-batches-py",
      "data_batch_1",
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      "test_batch.bin",
      "batches.meta.txt",
      10,
      1};
  return import_cifar(
      folder, version,
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
}

DatasetContents import_cifar100(const fs::path& folder) {
  return import_cifar(folder,
                      {"CIFAR-100",
                       "cifar-100-binary",
                       "cifar-100-python",
                       "train",
                       {"train.bin"},
                       "test.bin",
                       "fine_label_names.txt",
                       100,
                       2},
                      {});
}

}  // namespace skyline::store

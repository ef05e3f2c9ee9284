#include "store/images/image_folder.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // an unreadable entry is reported when it is read
  return fs::is_directory(path, ignored);
}

/// Returns the entries that are not hidden, ordered by name.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths = list_folder(folder);
  std::erase_if(paths, [](const fs::path& path) { return path.filename().string().starts_with('.'); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Returns the first of these folders below `folder` that contains folders, or an empty path. One that
/// contains only images is a class of this name.
fs::path part_folder(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (is_folder(folder / name) && std::ranges::any_of(sorted_entries(folder / name), is_folder)) {
      return folder / name;
    }
  }
  return {};
}

/// Collects the files below a folder. A link to a folder counts as a file, which will be refused, because
/// links could form a circle.
void collect_files(const fs::path& folder, const std::string& prefix, std::vector<std::string>& names) {
  for (const fs::path& path : sorted_entries(folder)) {
    const std::string name = prefix + path.filename().string();
    std::error_code ignored;
    if (fs::symlink_status(path, ignored).type() == fs::file_type::directory) {
      collect_files(path, name + "/", names);
    } else {
      names.push_back(name);
    }
  }
}

}  // namespace

ImageFolder::ImageFolder(const std::vector<fs::path>& paths) : class_names_{"unknown"} {
  for (const fs::path& path : paths) add_class(path, Part::kTrain, 0);
}

ImageFolder::ImageFolder(const fs::path& folder) {
  const fs::path train = part_folder(folder, {"train", "training"});
  for (const fs::path& path : sorted_entries(train.empty() ? folder : train)) {
    if (is_folder(path)) class_names_.push_back(path.filename().string());
  }
  if (class_names_.size() < 2) {
    throw UserError(folder.string() +
                    ": expected a folder of images for each of at least 2 classes, or the folders train, val "
                    "and test with such, got " +
                    std::to_string(class_names_.size()));
  }
  add_part(train.empty() ? folder : train, Part::kTrain);
  if (!train.empty()) {
    add_part(part_folder(folder, {"val", "valid", "validation"}), Part::kValidation);
    add_part(part_folder(folder, {"test", "testing"}), Part::kTest);
  }
  if (size() > std::numeric_limits<std::uint32_t>::max())
    throw UserError(folder.string() + ": too many files");
}

void ImageFolder::add_part(const fs::path& folder, Part part) {
  if (folder.empty()) return;
  for (const fs::path& path : sorted_entries(folder)) {
    if (!is_folder(path)) continue;
    const auto known = std::ranges::find(class_names_, path.filename().string());
    if (known == class_names_.end())
      throw UserError(path.string() + ": a class that the training set does not have");
    add_class(path, part, static_cast<std::int32_t>(known - class_names_.begin()));
  }
}

void ImageFolder::add_class(const fs::path& folder, Part part, std::int32_t label) {
  const bool single = fs::is_regular_file(folder);
  groups_.push_back({single ? folder.parent_path() : folder, part, label, size()});
  std::vector<std::string> names;
  if (single) {
    names.push_back(folder.filename().string());
  } else {
    collect_files(folder, {}, names);
  }
  for (const std::string& name : names) {
    names_ += name;
    ends_.push_back(names_.size());
  }
  parts_.resize(size(), static_cast<std::uint8_t>(part));
}

const ImageFolder::Group& ImageFolder::group_of(std::size_t file) const {
  const auto after = std::ranges::upper_bound(groups_, file, {}, &Group::begin);
  return *(after - 1);
}

std::size_t ImageFolder::end_of(const Group& group) const {
  return &group == &groups_.back() ? size() : (&group + 1)->begin;
}

fs::path ImageFolder::path(std::size_t file) const {
  const std::size_t begin = file == 0 ? 0 : ends_[file - 1];
  return group_of(file).folder / names_.substr(begin, ends_[file] - begin);
}

bool ImageFolder::has_part(Part part) const {
  return std::ranges::find(groups_, part, &Group::part) != groups_.end();
}

void ImageFolder::draw(const PartShares& shares) {
  const std::vector<std::uint32_t> files = files_of(Part::kTrain);
  std::vector<std::int32_t> labels;
  labels.reserve(files.size());
  for (const std::uint32_t file : files) labels.push_back(label(file));
  const std::vector<Part> parts = draw_parts(labels, shares);
  for (std::size_t i = 0; i < files.size(); ++i) parts_[files[i]] = static_cast<std::uint8_t>(parts[i]);
}

std::vector<std::uint32_t> ImageFolder::files_of(Part part) const {
  std::vector<std::uint32_t> files;
  for (std::size_t file = 0; file < size(); ++file) {
    if (parts_[file] == static_cast<std::uint8_t>(part)) files.push_back(static_cast<std::uint32_t>(file));
  }
  return files;
}

void ImageFolder::check_classes() const {
  for (const Group& group : groups_) {
    if (group.part != Part::kTrain) continue;
    const auto begin = parts_.begin() + static_cast<std::ptrdiff_t>(group.begin);
    const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(end_of(group));
    if (std::find(begin, end, static_cast<std::uint8_t>(Part::kTrain)) == end) {
      throw UserError(group.folder.string() + ": a class without an image to train on");
    }
  }
}

}  // namespace skyline::store

#include "store/images/image_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/images/image.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // an unreadable entry is reported when it is read
  return fs::is_directory(path, ignored);
}

/// Returns whether an entry is hidden, or a folder that a system puts beside people's own.
bool is_passed_over(const fs::path& path) {
  constexpr std::array kOfSystems{"__MACOSX", "@eaDir", "__pycache__", "$RECYCLE.BIN", "lost+found"};
  const std::string name = path.filename().string();
  return name.starts_with('.') || std::ranges::find(kOfSystems, name) != kOfSystems.end();
}

/// Returns the entries that are not passed over, ordered by name.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths = list_folder(folder);
  std::erase_if(paths, is_passed_over);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> paths = sorted_entries(folder);
  std::erase_if(paths, [](const fs::path& path) { return !is_folder(path); });
  return paths;
}

/// Returns whether a word says nothing of which part or class a folder is.
bool is_filler(std::string_view word) {
  constexpr std::array kFillers{"set", "data", "dataset", "images", "image",    "imgs",
                                "img", "seg",  "split",   "folder", "pictures", "photos"};
  return std::ranges::find(kFillers, word) != kFillers.end();
}

/// Returns the part that a word names, with or without a word such as "set" behind it.
std::optional<Part> part_of_word(std::string_view word) {
  constexpr std::array kWords{std::pair("training", Part::kTrain),
                              std::pair("train", Part::kTrain),
                              std::pair("validation", Part::kValidation),
                              std::pair("valid", Part::kValidation),
                              std::pair("val", Part::kValidation),
                              std::pair("testing", Part::kTest),
                              std::pair("test", Part::kTest)};
  for (const auto& [name, part] : kWords) {
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(std::string_view(name).size());
    if (rest.empty() || is_filler(rest)) return part;
  }
  return std::nullopt;
}

/// Returns the part that the name of a folder states: "Training", "val", "seg_test", "TestSet", "train2017".
/// A name with another word in it is that of a class: "test tube".
std::optional<Part> stated_part(const fs::path& folder) {
  const std::string name = lower_case(folder.filename().string());
  const auto is_letter = [](char letter) { return std::isalpha(static_cast<unsigned char>(letter)) != 0; };
  std::optional<Part> part;
  for (auto begin = name.begin(); begin != name.end();) {
    begin = std::find_if(begin, name.end(), is_letter);
    const auto end = std::find_if_not(begin, name.end(), is_letter);
    const std::string word(begin, end);
    begin = end;
    if (word.empty() || is_filler(word)) continue;
    const std::optional<Part> stated = part_of_word(word);
    if (!stated || part) return std::nullopt;
    part = stated;
  }
  return part;
}

/// Goes into a folder of the same part that is all that a part's folder contains: "seg_train/seg_train".
fs::path unwrapped(fs::path folder) {
  for (;;) {
    const std::vector<fs::path> entries = sorted_entries(folder);
    if (entries.size() != 1 || !is_folder(entries.front()) ||
        stated_part(entries.front()) != stated_part(folder))
      return folder;
    folder = entries.front();
  }
}

using PartFolders = std::array<fs::path, kAllParts.size()>;

/// Finds the folders of the parts, which contain a folder for each class. One that contains only images is a
/// class of this name. Returns empty paths unless there is a training set.
PartFolders part_folders(const fs::path& folder) {
  PartFolders found;
  for (const fs::path& path : folders_in(folder)) {
    const std::optional<Part> part = stated_part(path);
    if (!part || folders_in(unwrapped(path)).empty()) continue;
    fs::path& known = found.at(static_cast<std::size_t>(*part));
    if (!known.empty())
      throw UserError(folder.string() + ": `" + known.filename().string() + "` and `" +
                      path.filename().string() + "` are both named like the " + to_text(*part) + " set");
    known = path;
  }
  return found.front().empty() ? PartFolders{} : found;
}

/// Returns what a folder contains beside the folders that are read: those of the parts, or of the classes.
std::string rest_text(const fs::path& folder, const PartFolders& read) {
  FileKinds files;
  std::vector<std::string> others;
  for (const fs::path& path : sorted_entries(folder)) {
    const std::string name = path.filename().string();
    if (!is_folder(path)) {
      ++files[ending_of(path)];
    } else if (!read.front().empty() && std::ranges::find(read, path) == read.end()) {
      others.push_back("`" + name + "`");
    }
  }
  if (!files.empty()) others.push_back(to_text(files));
  return joined(others);
}

/// Returns the names of folders that all of these folders contain.
std::vector<std::string> common_folders(const std::vector<fs::path>& folders) {
  std::map<std::string, std::size_t> counts;
  for (const fs::path& folder : folders) {
    for (const fs::path& path : folders_in(folder)) ++counts["`" + printable(path.filename().string()) + "`"];
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    if (count == folders.size()) names.push_back(name);
  }
  return names;
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

std::string to_text(const FileKinds& kinds) {
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(std::to_string(count) + " " + kind);
  return joined(texts);
}

ImageFolder::ImageFolder(const std::vector<fs::path>& paths) : class_names_{"unknown"} {
  for (const fs::path& path : paths) add_class(path, Part::kTrain, 0);
}

ImageFolder::ImageFolder(const fs::path& folder) {
  const PartFolders parts = part_folders(folder);
  const bool in_parts = !parts.front().empty();
  const auto look_beside = [this](const fs::path& place, const PartFolders& read, const std::string& what) {
    const std::string rest = rest_text(place, read);
    if (!rest.empty())
      doubts_.push_back(place.string() + ": not read, beside the folders of the " + what + ": " + rest);
  };
  look_beside(folder, parts, in_parts ? "parts" : "classes");
  find_classes(in_parts ? unwrapped(parts.front()) : folder, in_parts);
  if (in_parts) {
    for (const Part part : kAllParts) {
      if (parts.at(static_cast<std::size_t>(part)).empty()) continue;
      const fs::path place = unwrapped(parts.at(static_cast<std::size_t>(part)));
      look_beside(place, {}, "classes");
      add_part(place, part);
    }
  } else {
    add_part(folder, Part::kTrain);
  }
  if (size() > std::numeric_limits<std::uint32_t>::max())
    throw UserError(folder.string() + ": too many files");
}

void ImageFolder::find_classes(const fs::path& folder, bool in_parts) {
  const std::vector<fs::path> folders = folders_in(folder);
  for (const fs::path& path : folders) {
    const std::string name = path.filename().string();
    if (printable(name) != name)
      throw UserError(path.string() +
                      ": expected a class's name in UTF-8 and without control characters: rename the folder");
    if (!in_parts && stated_part(path))
      doubts_.push_back(path.string() + ": taken for a class, although it is named like a part of the set: " +
                        "parts are `train`, `val` and `test`, each with a folder for each class");
    class_names_.push_back(name);
  }
  if (const auto common = common_folders(folders); folders.size() >= 2 && common.size() >= 2)
    doubts_.push_back(folder.string() + ": " + std::to_string(folders.size()) +
                      " folders are taken for classes, although each has " + joined(common) +
                      ": if these are the classes, call the folders above them `train`, `val` and `test`, or "
                      "put the images of a class into one folder");
  if (folders.size() >= 2) return;
  std::string hint;
  if (folders.size() == 1 && folders_in(folders.front()).size() >= 2)
    hint = ": did you mean " + folders.front().string() + "?";
  throw UserError(folder.string() +
                  ": expected a folder of images for each of at least 2 classes, or the folders train, val "
                  "and test with such, got " +
                  std::to_string(folders.size()) + hint);
}

void ImageFolder::add_part(const fs::path& folder, Part part) {
  for (const fs::path& path : folders_in(folder)) {
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

std::string ImageFolder::folder_in_class(std::size_t file) const {
  const fs::path below = path(file).lexically_relative(group_of(file).folder);
  return below.parent_path().filename().string();
}

void ImageFolder::draw(const PartShares& shares, const std::vector<std::int32_t>& groups) {
  const std::vector<std::uint32_t> files = files_of(Part::kTrain);
  std::vector<std::int32_t> labels;
  labels.reserve(files.size());
  std::vector<std::int32_t> groups_of_files;
  for (const std::uint32_t file : files) {
    labels.push_back(label(file));
    if (!groups.empty()) groups_of_files.push_back(groups[file]);
  }
  const std::vector<Part> parts = draw_parts(labels, shares, groups_of_files);
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

#pragma once

#include "skyline/store/importer.hpp"

#include "store/data/part_shares.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace skyline::store {

/// The files in the class folders of a folder, or of `train`, `val` and `test` below it: by part, then class,
/// then name. Files in folders below a class folder belong to that class. Hidden files are left out. Takes
/// some 40 bytes of memory per file.
class ImageFolder {
 public:
  /// Lists the files of a folder.
  /// @throws UserError for fewer than two classes, or a class of `val` or `test` that `train` does not have
  explicit ImageFolder(const std::filesystem::path& folder);
  /// Lists image files, and all files below folders, without classes.
  explicit ImageFolder(const std::vector<std::filesystem::path>& paths);

  const std::vector<std::string>& class_names() const { return class_names_; }
  std::size_t size() const { return ends_.size(); }
  std::filesystem::path path(std::size_t file) const;
  std::int32_t label(std::size_t file) const { return group_of(file).label; }
  /// Returns whether the folder itself has this part.
  bool has_part(Part part) const;

  void leave_out(std::size_t file) { parts_[file] = kLeftOut; }
  /// Draws a part for each file of the training set that is not left out.
  void draw(const PartShares& shares);
  /// Returns the files of a part, in order.
  std::vector<std::uint32_t> files_of(Part part) const;
  /// Checks that each class has a file for training. @throws UserError with the class that has none
  void check_classes() const;

 private:
  static constexpr std::uint8_t kLeftOut = 255;
  /// The files of one class in one part.
  struct Group {
    std::filesystem::path folder;
    Part part;
    std::int32_t label;
    std::size_t begin;  // index of its first file
  };

  void add_part(const std::filesystem::path& folder, Part part);
  void add_class(const std::filesystem::path& folder, Part part, std::int32_t label);
  const Group& group_of(std::size_t file) const;
  std::size_t end_of(const Group& group) const;

  std::vector<std::string> class_names_;
  std::vector<Group> groups_;
  std::string names_;              // names of all files below their groups' folders, one after the other
  std::vector<std::size_t> ends_;  // end of each file's name
  std::vector<std::uint8_t> parts_;
};

}  // namespace skyline::store

#pragma once

#include "skyline/store/importer.hpp"

#include "store/data/part_shares.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace skyline::store {

/// Numbers of files of each kind: "BMP", ".txt".
using FileKinds = std::map<std::string, std::size_t>;
/// Returns "20 BMP, 3 GIF".
std::string to_text(const FileKinds& kinds);

/// The files in the class folders of a folder, or of its folders for the parts: by part, then class, then
/// name. A part's folder is known by its name in any case: `train`, `Testing`, `valid`, `seg_test`. Files in
/// folders below a class folder belong to that class. Hidden files, and folders that systems make
/// (`__MACOSX`), are left out. Takes some 40 bytes of memory per file.
class ImageFolder {
 public:
  /// Lists the files of a folder.
  /// @throws UserError for fewer than two classes, a class of `val` or `test` that `train` does not have, and
  ///         two folders of one part
  explicit ImageFolder(const std::filesystem::path& folder);
  /// Lists image files, and all files below folders, without classes.
  explicit ImageFolder(const std::vector<std::filesystem::path>& paths);

  const std::vector<std::string>& class_names() const { return class_names_; }
  std::size_t size() const { return ends_.size(); }
  std::filesystem::path path(std::size_t file) const;
  std::int32_t label(std::size_t file) const { return group_of(file).label; }
  /// Returns whether the folder itself has this part.
  bool has_part(Part part) const;
  /// Returns a line for everything that is not read, or may be meant otherwise.
  const std::vector<std::string>& doubts() const { return doubts_; }

  /// Returns the part of a file; of one that is left out, the part of its folder.
  Part part(std::size_t file) const {
    return parts_[file] == kLeftOut ? group_of(file).part : static_cast<Part>(parts_[file]);
  }
  bool is_left_out(std::size_t file) const { return parts_[file] == kLeftOut; }
  void leave_out(std::size_t file) { parts_[file] = kLeftOut; }
  /// Returns the name of the last folder between a class's folder and a file; empty if there is none.
  std::string folder_in_class(std::size_t file) const;
  /// Draws a part for each file of the training set that is not left out.
  /// @param groups  for each file of the folder the number of its group, or empty
  void draw(const PartShares& shares, const std::vector<std::int32_t>& groups = {});
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

  void find_classes(const std::filesystem::path& folder, bool in_parts);
  void add_part(const std::filesystem::path& folder, Part part);
  void add_class(const std::filesystem::path& folder, Part part, std::int32_t label);
  const Group& group_of(std::size_t file) const;
  std::size_t end_of(const Group& group) const;

  std::vector<std::string> class_names_;
  std::vector<Group> groups_;
  std::string names_;              // names of all files below their groups' folders, one after the other
  std::vector<std::size_t> ends_;  // end of each file's name
  std::vector<std::uint8_t> parts_;
  std::vector<std::string> doubts_;
};

}  // namespace skyline::store

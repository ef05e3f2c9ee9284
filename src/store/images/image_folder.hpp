#pragma once

#include "skyline/store/importer.hpp"

#include "store/data/part_shares.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// The files in the class folders of a folder, or of `train`, `val` and `test` below it: by part, then class,
/// then name. Files in folders below a class folder are of that class. Hidden ones do not count. Takes some
/// 40 bytes of memory per file.
class ImageFolder {
 public:
  /// @throws UserError: fewer than two classes, a class of `val` or `test` that `train` has not
  explicit ImageFolder(const std::filesystem::path& folder);
  /// Without classes: images, and all files below folders.
  explicit ImageFolder(const std::vector<std::filesystem::path>& paths);

  const std::vector<std::string>& class_names() const { return class_names_; }
  std::size_t size() const { return ends_.size(); }
  std::filesystem::path path(std::size_t file) const;
  std::int32_t label(std::size_t file) const { return group_of(file).label; }
  /// Whether the folder itself says so.
  bool has_part(Part part) const;

  void leave_out(std::size_t file) { parts_[file] = kLeftOut; }
  /// Draws parts for the files of the training set that are not left out.
  void draw(const PartShares& shares);
  /// The files of a part, in order.
  std::vector<std::uint32_t> files_of(Part part) const;
  /// @throws UserError naming a class without a file to train on
  void check_classes() const;

 private:
  static constexpr std::uint8_t kLeftOut = 255;
  /// The files of a class in a part.
  struct Group {
    std::filesystem::path folder;
    Part part;
    std::int32_t label;
    std::size_t begin;  // its first file
  };

  void add_part(const std::filesystem::path& folder, Part part);
  void add_class(const std::filesystem::path& folder, Part part, std::int32_t label);
  const Group& group_of(std::size_t file) const;
  std::size_t end_of(const Group& group) const;

  std::vector<std::string> class_names_;
  std::vector<Group> groups_;
  std::string names_;              // of all files, one after the other, below their groups' folders
  std::vector<std::size_t> ends_;  // of each file's name
  std::vector<std::uint8_t> parts_;
};

}  // namespace skyline::store

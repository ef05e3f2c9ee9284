#pragma once

#include "skyline/store/dataset.hpp"

#include "store/data/mapped_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace skyline::store {

/// What a larger network says of the samples of a data set, for the training of smaller ones.
struct TeacherOutputs {
  std::string data_hash;  // Dataset::content_hash of the data set
  std::string source;     // the larger network, a word for people
  std::uint64_t rows = 0;
  std::uint64_t outputs = 0;
  /// [rows, outputs]: logits of classes or labels, or numbers in the scale of the data set's targets; of the
  /// samples of `train`, then of those of `validation`.
  std::span<const float> values;
};

/// Publishes a teacher's file. @throws UserError, or FaultError if it cannot be written
void write_teacher(const std::filesystem::path& path, const TeacherOutputs& contents);

/// A teacher's file, open and mapped read-only. Immutable; any thread may use it.
class Teacher {
 public:
  /// Opens a file. @throws UserError if it is missing, no teacher's file, or damaged
  /// @param verify  whether to check all values
  static std::shared_ptr<const Teacher> open(const std::filesystem::path& path, bool verify);

  const TeacherOutputs& contents() const { return contents_; }
  const std::string& content_hash() const { return content_hash_; }  // SHA-256, equal for equal contents
  /// Checks that the outputs are those for a data set. @throws UserError "<path>: ..."
  void check_data(const Dataset& dataset) const;
  /// Checks that the file still has its contents. @throws UserError if it was overwritten
  void check_unchanged() const;

 private:
  explicit Teacher(const std::filesystem::path& path) : path_(path), file_(path), checked_(file_.version()) {}
  void check_values() const;

  std::filesystem::path path_;
  MappedFile file_;
  std::shared_ptr<const Seal> seal_;
  mutable std::mutex mutex_;             // guards checked_
  mutable MappedFile::Version checked_;  // last version that had the contents of the seal
  TeacherOutputs contents_;
  std::string content_hash_;
};

}  // namespace skyline::store

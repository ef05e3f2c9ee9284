#pragma once

#include "skyline/store/dataset.hpp"

#include "store/data/mapped_file.hpp"
#include "store/data/unsealed_file.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// A data set file, mapped.
class MappedDataset final : public Dataset {
 public:
  /// Maps the file and checks its seal. Another program's file, which is HDF5 from its first byte, has none.
  explicit MappedDataset(const std::filesystem::path& path);
  /// Maps a file that is to be sealed: HDF5 behind a user block that is still empty. @throws UserError
  static MappedDataset before_seal(const std::filesystem::path& path);
  /// Says whether checksums can be checked before the HDF5 library sees the file: for Skyline's own files.
  bool is_sealed() const { return sealed_; }
  /// Checks all contents. Returns false if it was stopped.
  bool check_contents(const std::function<bool()>& stop_requested) const {
    return check_arrays(file_.bytes(), seal_, path_, stop_requested);
  }
  /// Reads everything; a file without a seal is read whole. @throws UserError
  void read();
  /// Reads what the file says of itself, and maps its arrays. @throws UserError
  void read_layout();
  void check_all_values() const;
  /// Returns the places of the arrays that have values, without sums.
  const std::vector<Seal::Array>& arrays() const { return arrays_; }

  const space::Shape& shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const std::vector<double>& mean() const override { return mean_; }
  const std::vector<double>& deviation() const override { return deviation_; }
  double value_scale() const override { return value_scale_; }
  const SampleView& train() const override { return train_.view; }
  const SampleView& validation() const override { return validation_.view; }
  const SampleView& test() const override { return test_.view; }
  const std::string& content_hash() const override { return content_hash_; }
  std::string preparation() const override { return preparation_; }
  bool in_time_order() const override { return in_time_order_; }
  void verify(const std::function<bool()>& stop_requested) const override {
    if (check_contents(stop_requested)) check_all_values();
  }
  void check_unchanged() const override;

 private:
  struct MappedPart {
    SampleView view;
    std::vector<std::int32_t> classes;  // copied: checked indices must not change
  };
  MappedDataset(const std::filesystem::path& path, bool sealed);
  void read_layout(const Hdf5Reader& reader);
  void read_shape(const Hdf5Reader& reader);
  void read_value_scale(const Hdf5Reader& reader);
  void read_preparation(const Hdf5Reader& reader);
  void read_unsealed();
  UnsealedFacts find_facts() const;
  void check_channels(const char* name, std::size_t values) const;
  void map_part(const Hdf5Reader& reader, const std::string& part, MappedPart& mapped);
  void map_targets(const Hdf5Reader& reader, const std::string& part, MappedPart& mapped);
  void map_groups(const Hdf5Reader& reader);
  void read_split(const Hdf5Reader& reader);
  std::size_t size_of(const std::string& name, std::span<const std::int64_t> dims) const;
  template <typename T>
  std::span<const T> map_array(const Hdf5Reader& reader, const std::string& name, hid_t type,
                               std::size_t size);

  std::filesystem::path path_;
  MappedFile file_;
  mutable MappedFile::Version checked_;  // guarded by mutex_
  bool sealed_;
  Seal seal_;
  space::Shape shape_;
  std::vector<std::string> class_names_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  double value_scale_ = 0;
  MappedPart train_;
  MappedPart validation_;
  MappedPart test_;
  std::vector<Seal::Array> arrays_;
  std::vector<std::shared_ptr<const void>> copies_;  // copies of arrays that are not aligned in the file
  std::string content_hash_;
  std::string preparation_;
  bool in_time_order_ = false;
  mutable std::mutex mutex_;
};

}  // namespace skyline::store

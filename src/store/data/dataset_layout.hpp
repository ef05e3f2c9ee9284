#pragma once

#include "skyline/store/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <hdf5.h>

namespace skyline::store {

// Definitions that writing and reading a data set file share.
inline constexpr std::string_view kDatasetFormat = "skyline-dataset";
inline constexpr std::int64_t kDatasetVersion = 2;
inline constexpr const char* kGroupsName = "train/groups";
inline constexpr const char* kSplitAttribute = "split";
inline constexpr std::string_view kSplitLast =
    "last";  // value of the attribute for samples in the order of time

/// Most channels of a sample; each has its own moments.
inline constexpr std::int64_t kMostChannels = std::int64_t{1} << 20;

inline std::size_t targets_per_sample(TargetKind kind, std::size_t outputs) {
  return kind == TargetKind::kClasses ? 1 : outputs;
}

/// Returns the type of an array's elements in the file.
inline hid_t stored_type(std::uint8_t /*of*/) {
  return H5T_STD_U8LE;
}
inline hid_t stored_type(std::int32_t /*of*/) {
  return H5T_STD_I32LE;
}
inline hid_t stored_type(float /*of*/) {
  return H5T_IEEE_F32LE;
}

/// Checks the classes. @throws UserError with the first unknown class
/// @param first  number of the first sample in its part
void check_classes(const SampleView& samples, std::size_t classes, const std::string& part,
                   const std::filesystem::path& path, std::size_t first = 0);
/// Checks every value and target.
/// @param first  number of the first sample in its part
/// @throws UserError with the first number that is not finite, the first unknown class, or the first label
///         that is neither 0 nor 1
void check_values(const SampleView& samples, std::size_t outputs, const std::string& part,
                  const std::filesystem::path& path, std::size_t first = 0);

}  // namespace skyline::store

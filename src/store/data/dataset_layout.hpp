#pragma once

#include "skyline/store/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <hdf5.h>

namespace skyline::store {

// What writing and reading a data set file agree on.
inline constexpr std::string_view kDatasetFormat = "skyline-dataset";
inline constexpr std::int64_t kDatasetVersion = 2;

/// Of a sample; each has moments of its own.
inline constexpr std::int64_t kMostChannels = std::int64_t{1} << 20;

/// Targets of a sample.
inline std::size_t targets_per_sample(TargetKind kind, std::size_t outputs) {
  return kind == TargetKind::kClasses ? 1 : outputs;
}

/// The type of an array's elements in the file.
inline hid_t stored_type(std::uint8_t /*of*/) {
  return H5T_STD_U8LE;
}
inline hid_t stored_type(std::int32_t /*of*/) {
  return H5T_STD_I32LE;
}
inline hid_t stored_type(float /*of*/) {
  return H5T_IEEE_F32LE;
}

/// @throws UserError naming the first class that there is not
void check_classes(const SampleView& samples, std::size_t classes, const std::string& part,
                   const std::filesystem::path& path);
/// Checks every value and target. @throws UserError naming the first number that is not finite, the first
/// class that there is not, the first label that is neither 0 nor 1
void check_values(const SampleView& samples, std::size_t outputs, const std::string& part,
                  const std::filesystem::path& path);

}  // namespace skyline::store

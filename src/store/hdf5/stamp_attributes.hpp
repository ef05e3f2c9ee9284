#pragma once

#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/run_folder/run_folder.hpp"

namespace skyline::store {

inline void write_stamp(Hdf5Image& image, const RunStamp& stamp) {
  image.write_attribute("/", "skyline_version", stamp.skyline_version);
  image.write_attribute("/", "config_hash", stamp.config_hash);
}

inline RunStamp read_stamp(const Hdf5Reader& reader) {
  return {reader.text_attribute("skyline_version"), reader.text_attribute("config_hash")};
}

}  // namespace skyline::store

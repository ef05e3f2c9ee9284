#pragma once

#include "gzip_text.hpp"
#include "prepared.hpp"
#include "scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <minizip/zip.h>

namespace skyline::store {

using skyline::testing::Options;

template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string npy_with_header(const std::string& header, const std::string& content) {
  const std::string padded =
      header + std::string(117 - std::min<std::size_t>(header.size(), 117), ' ') + "\n";
  const auto size = static_cast<std::uint16_t>(padded.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size & 0xff) + static_cast<char>(size >> 8) +
         padded + content;
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& content) {
  return npy_with_header("{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }",
                         content);
}

using Entries = std::vector<std::pair<std::string, std::string>>;

/// @param level  of compression; 0: stored, as numpy.savez does
inline void write_npz(const std::filesystem::path& path, const Entries& entries, int level = 6) {
  std::filesystem::remove(path);
  const zipFile file = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, content] : entries) {
    const zip_fileinfo info{};
    zipOpenNewFileInZip64(file, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                          level == 0 ? 0 : Z_DEFLATED, level, 1);
    zipWriteInFileInZip(file, content.data(), static_cast<unsigned>(content.size()));
    zipCloseFileInZip(file);
  }
  zipClose(file, nullptr);
}

class ImportArrays : public ::testing::Test {
 protected:
  std::shared_ptr<const Dataset> read(const std::vector<std::string>& names,
                                      const Options& options = {}) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(folder / name);
    return testing::prepared("arrays", paths, out / "set.h5", options);
  }
  std::string error(const std::vector<std::string>& names, const Options& options = {}) const {
    return testing::user_error_of([&] { read(names, options); });
  }
  void write(const std::string& name, const std::string& content) const {
    testing::overwrite(folder / name, content);
  }
  /// x_train and y_train in set.npz.
  void write_pair(const std::string& x, const std::string& y) const {
    write_npz(folder / "set.npz", {{"x_train", x}, {"y_train", y}});
  }

  testing::ScratchFolder folder;
  testing::ScratchFolder out;
};

inline const std::string kTwoImages = npy("|u1", "2, 1, 2, 3", "abcdefABCDEF");
inline const std::string kTwoLabels = npy("<i8", "2,", raw_bytes<std::int64_t>({5, 3}));

}  // namespace skyline::store

#pragma once

#include "store/data/mapped_file.hpp"
#include "store/hdf5/sealed_file.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace skyline::store {

/// What is known of a data set file that another program wrote, without a seal: what a seal would say, and
/// the moments of its training values. To find it takes reading the whole file, so it is kept in FILE.seal.
struct UnsealedFacts {
  Seal seal;
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// Whether the file is HDF5 from its first byte: one of Skyline's begins with a seal.
bool is_plain_hdf5(std::span<const std::byte> file);

/// What FILE.seal says, if it is of the file as it is now.
std::optional<UnsealedFacts> known_facts(const std::filesystem::path& path,
                                         const MappedFile::Version& version);
/// Writes FILE.seal. In a folder that cannot be written nothing is kept, and the log says so.
void keep_facts(const std::filesystem::path& path, const MappedFile::Version& version,
                const UnsealedFacts& facts);

}  // namespace skyline::store

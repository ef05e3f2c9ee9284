#pragma once

#include "store/data/mapped_file.hpp"
#include "store/hdf5/sealed_file.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace skyline::store {

/// The facts about a data set file of another program that a seal would state, and the moments of its
/// training values. Finding them takes reading the whole file, so they are kept in FILE.seal.
struct UnsealedFacts {
  Seal seal;
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// Returns whether the file is HDF5 from its first byte. A file of Skyline's begins with a seal.
bool is_plain_hdf5(std::span<const std::byte> file);

/// Returns the facts in FILE.seal if they belong to the file as it is now.
std::optional<UnsealedFacts> known_facts(const std::filesystem::path& path,
                                         const MappedFile::Version& version);
/// Writes FILE.seal. If the folder cannot be written, nothing is kept and the log says so.
void keep_facts(const std::filesystem::path& path, const MappedFile::Version& version,
                const UnsealedFacts& facts);

}  // namespace skyline::store

#pragma once

#include "store/data/mapped_file.hpp"
#include "store/hdf5/sealed_file.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace skyline::store {

/// Seals a data set that another program made: HDF5 with a user block of kSealBytes that is still empty
/// (python/skyline/prep/dataset.py). Checks every value, adds mean, deviation and the arrays' SHA-256, writes
/// the seal, makes the file durable and gives it the name `target`. Reads the values once. Returns false if
/// it was stopped.
/// @param made  in the file system of `target`; the HDF5 library opens it unchecked
/// @param stop_requested  called now and then
/// @throws UserError if it is no data set, or a value is not right; FaultError if it cannot be written
bool seal_dataset(
    const std::filesystem::path& made, const std::filesystem::path& target,
    const std::function<bool()>& stop_requested = [] { return false; });

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

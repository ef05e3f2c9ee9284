#pragma once

#include <filesystem>
#include <functional>

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

}  // namespace skyline::store

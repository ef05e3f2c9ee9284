#pragma once

#include "store/publish/storage_call.hpp"
#include "store/publish/temporary_file.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace skyline::store {

/// Writes the contents of a file; called again, with a new file, after a fault that may pass.
using FillFile = std::function<Fault(TemporaryFile&)>;

/// Publishes the file that `fill` writes, like publish_file. @throws UserError
/// @param effort  kOnce for a file that the run can do without, so that a full disk does not delay other
/// files
void publish(const std::filesystem::path& path, const FillFile& fill, Effort effort = Effort::kPatient);

void publish_pieces(const std::filesystem::path& path, const FilePieces& pieces);

/// Publishes with one attempt; the caller judges a fault.
Fault publish_once(const std::filesystem::path& path, const FillFile& fill);

/// Reads the whole file with one attempt; the caller judges a fault.
Fault read_once(const std::filesystem::path& path, std::string& text);

}  // namespace skyline::store

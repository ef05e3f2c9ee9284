#pragma once

#include "store/publish/storage_call.hpp"
#include "store/publish/temporary_file.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace skyline::store {

/// Writes the contents of a file; called anew, with a new file, after a fault that may pass.
using FillFile = std::function<Fault(TemporaryFile&)>;

/// Publishes what `fill` writes, as publish_file does. @throws UserError
/// @param effort  kOnce for a file that the run can do without: a full disk shall not hold the other files up
void publish(const std::filesystem::path& path, const FillFile& fill, Effort effort = Effort::kPatient);

void publish_pieces(const std::filesystem::path& path, const FilePieces& pieces);

/// The same, once: a fault is the caller's to judge.
Fault publish_once(const std::filesystem::path& path, const FillFile& fill);

/// Reads the whole file, once: a fault is the caller's to judge.
Fault read_once(const std::filesystem::path& path, std::string& text);

}  // namespace skyline::store

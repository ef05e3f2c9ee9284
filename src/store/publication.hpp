#pragma once

#include "store/patience.hpp"
#include "store/temporary_file.hpp"

#include <filesystem>
#include <functional>

namespace skyline::store {

/// Writes the contents of a file; called anew, with a new file, after a fault that may pass.
using FillFile = std::function<Fault(TemporaryFile&)>;

/// Publishes what `fill` writes, as publish_file does. @throws UserError
void publish(const std::filesystem::path& path, const FillFile& fill);

void publish_pieces(const std::filesystem::path& path, const FilePieces& pieces);

/// The same, once: a fault is the caller's to judge.
Fault publish_once(const std::filesystem::path& path, const FillFile& fill);

}  // namespace skyline::store

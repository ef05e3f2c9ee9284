#pragma once

#include <filesystem>
#include <vector>

namespace skyline::store {

/// Lists the entries of a folder, in no order. @throws UserError
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

}  // namespace skyline::store

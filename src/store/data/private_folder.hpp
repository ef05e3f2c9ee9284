#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace skyline::store {

/// Why a folder is not fit to hold copies on a node, in words. Nothing: it is a real folder of this user
/// that nobody else may use or replace.
std::optional<std::string> find_objection(const std::filesystem::path& folder);

/// Makes the folder, for this user alone, if it is missing. Returns why it is not fit (find_objection) or
/// cannot be made; nothing: it is there.
std::optional<std::string> make_private_folder(const std::filesystem::path& folder);

}  // namespace skyline::store

#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace skyline::store {

/// What is wrong with a folder for copies on a node; nothing if it is a folder of this user, no link, that
/// nobody else may use or put another one in the place of.
std::optional<std::string> find_objection(const std::filesystem::path& folder);

/// Makes the folder, for this user alone, if it is not there. Returns what is wrong with it, or with making
/// it.
std::optional<std::string> make_private_folder(const std::filesystem::path& folder);

}  // namespace skyline::store

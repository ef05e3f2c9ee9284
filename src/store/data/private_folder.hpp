#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace skyline::store {

/// The objection to a folder for copies on a node. Nothing if it is a real folder of this user that nobody
/// else may use or replace.
std::optional<std::string> find_objection(const std::filesystem::path& folder);

/// Makes the folder, for this user alone, if it is missing. Returns the objection to it, or the reason why it
/// cannot be made.
std::optional<std::string> make_private_folder(const std::filesystem::path& folder);

}  // namespace skyline::store

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

namespace skyline::store {

// Work on all that is in a folder which a foreign program filled. Nothing follows a symbolic link, or leaves
// the file system of the folder. Sockets, pipes and devices are passed over where they are not removed. After
// a fault that may pass (is_transient) a task begins anew, as long as patience_s() allows; but a removal in
// parts fails, because other files wait for it.

/// Returns the bytes of all files, or a number above `most` once that many are found. Names that come and go
/// meanwhile do no harm.
/// @throws UserError if the folder is missing, or has folders in folders 100 levels deep; FaultError
std::uint64_t tree_bytes(const std::filesystem::path& folder, std::uint64_t most);

/// Returns whether nothing is in a folder. @throws as tree_bytes
bool is_empty_folder(const std::filesystem::path& folder);

/// Makes all files durable, and all names. Some hundred files are made durable one by one; if there are more,
/// the whole file system is (syncfs), with a line in the log. @throws as tree_bytes
void sync_tree(const std::filesystem::path& folder);

/// Makes the folder `to`, which nobody else can enter, with copies of all files, folders and links, and makes
/// them durable as sync_tree does. Where the file system can, copies share their blocks with the originals.
/// Returns false if it ended early because `stop`, called often, returned true. What it made stays then, and
/// after an error.
/// @throws as tree_bytes; FaultError also for a file that is shorter than its status said
bool copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
               const std::function<bool()>& stop);

/// Removes a folder with all that is in it, or a part: at most `most` names. Folders below it are moved into
/// it before they are emptied, so that no depth is too deep. Returns whether all is gone; it is also if there
/// was nothing. A symbolic link in place of the folder is removed itself.
/// @throws UserError, FaultError if something cannot be removed, e.g. a folder where another file system
///         begins
bool remove_tree(const std::filesystem::path& folder, std::size_t most);

/// Removes a folder with all that is in it, patiently. @throws as above
void remove_tree(const std::filesystem::path& folder);

}  // namespace skyline::store

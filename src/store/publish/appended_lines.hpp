#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace skyline::store {

// Files to which lines are appended by one process at a time. The lines are not durable at once.

/// Appends lines, with a line feed after each. What an earlier job has left of an incomplete line stays a
/// line of its own. @throws as publish_file
void append_lines(const std::filesystem::path& path, std::string_view lines);

/// Hands each line of a file on, also empty and incomplete ones. Lines for which `read` throws a UserError
/// are left out: they are damaged, or of another version. @throws as read_file
void read_lines(const std::filesystem::path& path, const std::function<void(std::string_view line)>& read);

}  // namespace skyline::store

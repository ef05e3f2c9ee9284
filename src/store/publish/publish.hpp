#pragma once

#include "store/publish/patience.hpp"
#include "store/publish/temporary_file.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace skyline {
class ConfigNode;
}

namespace skyline::store {

/// Publishes a file whole: temporary name in the same folder, write, fsync, rename, fsync of the folder.
/// Readers see the old file or the new one, never a part. @throws FaultError, UserError naming the file and
/// the system's reason (fail_system); the temporary is removed
void publish_file(const std::filesystem::path& path, std::string_view text, Effort effort = Effort::kPatient);

/// Takes the next part of a text.
using WriteText = std::function<void(std::string_view part)>;
/// The same, for a text that is too large to be held. @param produce  gives the parts, in order; called again
/// after a fault that may pass
void publish_text(const std::filesystem::path& path,
                  const std::function<void(const WriteText& write)>& produce);

/// The same as publish_file, but only if nothing has that name yet: of several that try, one wins. Returns
/// whether it was published. @throws as publish_file
bool publish_new_file(const std::filesystem::path& path, std::string_view text);

/// Removes a file; nothing happens if there is none of that name. @throws as publish_file
void remove_file(const std::filesystem::path& path);

/// Removes temporaries that a killed run left in `folder` (not below it): those of processes of this host
/// that are gone, and those of other hosts that are older than 60 s. Returns how many.
std::size_t remove_temporaries(const std::filesystem::path& folder);
/// Removes those of one file that processes of this host left.
void remove_temporaries_of(const std::filesystem::path& file);

/// Whether there is something of that name. @throws as publish_file if that cannot be told (no
/// permission, name too long)
bool exists(const std::filesystem::path& path);

/// The whole file. @throws as publish_file ("cannot read ...: No such file or directory")
std::string read_file(const std::filesystem::path& path);

/// Reads a YAML file. @throws UserError with file and line for a file that is missing or not YAML
ConfigNode load_yaml_file(const std::filesystem::path& path);

/// Writes the contents of a file; called again, with a new file, after a fault that may pass.
using FillFile = std::function<Fault(TemporaryFile&)>;

/// Publishes the file that `fill` writes, like publish_file. @throws UserError
/// @param effort  kOnce for a file that the run can do without, so that a full disk does not delay other
/// files
void publish(const std::filesystem::path& path, const FillFile& fill, Effort effort = Effort::kPatient);

/// Publishes with one attempt; the caller judges a fault.
Fault publish_once(const std::filesystem::path& path, const FillFile& fill);

/// Reads the whole file with one attempt; the caller judges a fault.
Fault read_once(const std::filesystem::path& path, std::string& text);

}  // namespace skyline::store

#pragma once

#include "core/system/open_file.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/publish/temporary_file.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {
class ConfigNode;
}

namespace skyline::store {

/// Publishes a file whole: temporary name in the same folder, write, fsync, rename, fsync of the folder.
/// Readers see the old file or the new one, never a part.
/// @throws FaultError, UserError with the file and the reason (fail_system); the temporary is removed
void publish_file(const std::filesystem::path& path, std::string_view text, Effort effort = Effort::kPatient);

/// Takes the next part of a text.
using WriteText = std::function<void(std::string_view part)>;
/// Publishes a text that is too large for memory. @throws as publish_file
/// @param produce  gives the parts in order; called again after a fault that may pass
void publish_text(const std::filesystem::path& path,
                  const std::function<void(const WriteText& write)>& produce);

/// Publishes the file only if nothing has its name yet; of several processes that try, one wins. Returns
/// whether it was published. @throws as publish_file
bool publish_new_file(const std::filesystem::path& path, std::string_view text);

/// Makes a folder, with those above it, whose files this program publishes and removes.
/// @throws Problem if it cannot be made; UserError if the path is a symbolic link, which others may have put
///         there
void make_own_folder(const std::filesystem::path& folder);

/// Makes a folder that only its owner may enter, unless something has its name already. @throws as
/// publish_file
void make_closed_folder(const std::filesystem::path& folder);

/// Removes a file; does nothing if there is none of that name. @throws as publish_file
void remove_file(const std::filesystem::path& path);

/// Gives a file or folder another name. @throws as publish_file
void rename_entry(const std::filesystem::path& from, const std::filesystem::path& to);

// Files of programs that a running job starts. They throw a FaultError even where only a person can mend it:
// that is never the mistake of a program or a trial.

/// Opens a file as open_own_file, patiently; never null. @throws FaultError
FileDescriptor open_own(const std::filesystem::path& path, int flags, unsigned mode);

/// Writes a file that only a program of now reads. It is neither durable nor whole meanwhile, which takes no
/// time. @throws FaultError
void write_scratch_file(const std::filesystem::path& path, std::string_view text);
/// Writes a file that a program may read meanwhile, and that has the beginning of the text already, or is
/// missing: a reader never misses what was there. @throws FaultError
void extend_scratch_file(const std::filesystem::path& path, std::string_view text);

/// Removes temporaries that a killed run left in `folder` (not below it): those of processes of this host
/// that have ended, and those of other hosts that are older than 60 s. Returns their number.
std::size_t remove_temporaries(const std::filesystem::path& folder);
/// Removes temporary files and folders of one file that processes of this host left.
void remove_temporaries_of(const std::filesystem::path& file);

/// Returns whether something has that name. @throws as publish_file if it is unknown (no permission, ...)
bool exists(const std::filesystem::path& path);

/// Reads a whole file. @throws as publish_file ("cannot read ...: No such file or directory")
std::string read_file(const std::filesystem::path& path);

/// Returns the last bytes of a regular file, at most `most`; "" if they cannot be read at once. For messages,
/// which do not depend on them.
std::string read_end(const std::filesystem::path& path, std::size_t most);

/// Reads a YAML file. @throws UserError with file and line if it is missing or not YAML
ConfigNode load_yaml_file(const std::filesystem::path& path);

/// Writes the contents of a file. Called again, for a new file, after a fault that may pass.
using FillFile = std::function<Fault(TemporaryFile&)>;

/// Publishes the file that `fill` writes, like publish_file. @throws UserError
/// @param effort  kOnce for a file that the run does not need, so that a full disk does not delay other files
void publish(const std::filesystem::path& path, const FillFile& fill, Effort effort = Effort::kPatient);

/// Publishes with one attempt; the caller decides about a fault.
Fault publish_once(const std::filesystem::path& path, const FillFile& fill);

/// Reads the whole file with one attempt; the caller decides about a fault.
Fault read_once(const std::filesystem::path& path, std::string& text);

/// While it lives, this process writes and removes files in some folders only as long as their names lead to
/// the folders of now: others may put a link or another folder in their place.
class PinnedFolders {
 public:
  /// Folders that are missing are not pinned.
  explicit PinnedFolders(const std::vector<std::filesystem::path>& folders);
  ~PinnedFolders();
  PinnedFolders(const PinnedFolders&) = delete;
  PinnedFolders& operator=(const PinnedFolders&) = delete;

  /// Checks the folder of a file, and the one above it, if they are pinned. Any thread may call this.
  /// @throws UserError if another folder took the place of one
  static void check(const std::filesystem::path& file);

 private:
  struct Pinned {
    std::filesystem::path folder;
    FileDescriptor descriptor;  // keeps the folder's number from being given to another one
  };
  /// @throws UserError if another folder took the place of this one
  void check_folder(const std::filesystem::path& folder) const;

  std::vector<Pinned> pinned_;
};

// Files to which lines are appended by one process at a time. The lines are not durable at once.

/// Appends lines, with a line feed after each. What an earlier job has left of an incomplete line stays a
/// line of its own. @throws as publish_file
void append_lines(const std::filesystem::path& path, std::string_view lines);

/// Hands each line of a file on, also empty and incomplete ones. Lines for which `read` throws a UserError
/// are left out: they are damaged, or of another version. @throws as read_file
void read_lines(const std::filesystem::path& path, const std::function<void(std::string_view line)>& read);

}  // namespace skyline::store

#include "store/weights/trial_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "store/publish/folder_tree.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/running_trials.hpp"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMarker = "done";
constexpr std::string_view kSetAside =
    "gone.";  // the beginning of the name of a folder that is being removed
constexpr std::string_view kUnfinished = ".new";  // the end of the name of a folder that is being copied
constexpr std::uint32_t kMostLosses = 4;          // a trial that was lost so often has failed
constexpr std::size_t kPortion = 1000;            // names that are removed at once

fs::path folder_of(const RunPaths& paths, trial::TrialName trial) {
  return paths.trials() / to_text(trial);
}

FileDescriptor hold(const fs::path& folder) {
  FileDescriptor held;
  patiently("open", folder, [&]() -> Fault {
    held = open_file(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    return {"open", held ? 0 : errno};
  });
  return held;
}

/// Renames the folders of attempts before they are emptied: a removal that is killed leaves none with a part
/// of its files, which a trainer would go on with.
void set_aside(const fs::path& all) {
  for (const fs::path& entry : list_folder(all)) {
    const std::string name = entry.filename().string();
    const bool is_attempt = name.find_first_not_of("0123456789abcdef.") == std::string::npos;
    if (is_attempt) rename_entry(entry, all / (std::string(kSetAside) + name));
  }
}

}  // namespace

std::optional<BegunFolder> begin_folder(const RunPaths& paths, trial::TrialName trial,
                                        const std::string& provenance, std::uint32_t losses,
                                        const fs::path& source, const std::function<bool()>& stop) {
  constexpr std::size_t kDigits = 8;
  const fs::path all = folder_of(paths, trial);
  PinnedFolders::check(all);
  make_closed_folder(all);
  (void)hold(all);  // refuses a link
  const std::string name = to_hex(stable_hash64(provenance)).substr(0, kDigits);
  const auto path_after = [&](std::uint32_t lost) {
    return all / (lost == 0 ? name : name + "." + std::to_string(lost));
  };
  const fs::path own = path_after(losses);
  fs::path left;  // folder that the last attempt left
  for (std::uint32_t lost = 0; lost < kMostLosses; ++lost) {
    if (store::exists(path_after(lost))) left = path_after(lost);
  }
  remove_file(all / kMarker);
  for (const fs::path& entry : list_folder(all)) {
    if (entry != left) remove_tree(entry);
  }
  if (left.empty() && source.empty()) make_closed_folder(own);
  if (left.empty() && !source.empty()) {
    const fs::path unfinished = own.string() + std::string(kUnfinished);
    if (!copy_tree(source, unfinished, stop)) return std::nullopt;
    rename_entry(unfinished, own);
  }
  if (!left.empty() && left != own) rename_entry(left, own);
  return BegunFolder{own, hold(own)};
}

bool is_in_place(const BegunFolder& folder) {
  const IoOperation operation("look at", folder.path);
  struct stat begun {};
  struct stat now {};
  return ::fstat(folder.held.get(), &begun) == 0 && ::lstat(folder.path.c_str(), &now) == 0 &&
         begun.st_ino == now.st_ino && begun.st_dev == now.st_dev;
}

void publish_folder(const RunPaths& paths, trial::TrialName trial, const BegunFolder& folder) {
  if (!is_in_place(folder)) {
    throw UserError(folder.path.string() +
                    ": the folder of the trial is gone, or another one is in its place");
  }
  sync_tree(folder.path);
  patiently("write", paths.trials(), [&]() -> Fault { return {"fsync", sync_folder(paths.trials())}; });
  publish_file(folder_of(paths, trial) / kMarker, folder.path.filename().string());
}

FolderFinding find_published_folder(const RunPaths& paths, trial::TrialName trial) {
  const fs::path marker = folder_of(paths, trial) / kMarker;
  const IoOperation operation("read", marker);
  std::string name;
  if (const Fault fault = read_once(marker, name)) {
    const bool is_missing = fault.error == ENOENT;  // a name of the shared folder may not show yet
    const std::string what = is_missing ? "there is no such file" : system_error_text(fault.error);
    return {{}, marker.string() + ": " + what, is_missing || is_transient(fault.error)};
  }
  const fs::path folder = marker.parent_path() / name;
  struct stat status {};
  const bool is_folder = !name.empty() && name.find_first_not_of("0123456789abcdef.") == std::string::npos &&
                         name.front() != '.' && ::lstat(folder.c_str(), &status) == 0 &&
                         S_ISDIR(status.st_mode);
  if (is_folder) return {folder, "", false};
  return {{}, marker.string() + ": names no folder beside it", true};
}

bool remove_folders(const RunPaths& paths, trial::TrialName trial) {
  const fs::path all = folder_of(paths, trial);
  const IoOperation operation("remove", all);
  PinnedFolders::check(all);
  if (open_file(all, O_PATH | O_DIRECTORY | O_NOFOLLOW)) {
    remove_file(all / kMarker);
    set_aside(all);
  }
  return remove_tree(all, kPortion);
}

std::set<trial::TrialName> trials_with_folders(const RunPaths& paths, bool published) {
  std::set<trial::TrialName> trials;
  if (!store::exists(paths.trials())) return trials;
  for (const fs::path& path : list_folder(paths.trials())) {
    const auto trial = parse_trial_name(path.filename().string());
    if (trial && store::exists(path / kMarker) == published) trials.insert(*trial);
  }
  return trials;
}

}  // namespace skyline::store

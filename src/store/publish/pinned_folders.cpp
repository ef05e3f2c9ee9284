#include "store/publish/pinned_folders.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/retry_policy.hpp"

#include <list>
#include <mutex>

#include <fcntl.h>
#include <sys/stat.h>

namespace skyline::store {
namespace {

std::mutex pinned_mutex;
std::list<const PinnedFolders*> all_pinned;  // all living objects

}  // namespace

PinnedFolders::PinnedFolders(const std::vector<std::filesystem::path>& folders) {
  for (const std::filesystem::path& folder : folders) {
    FileDescriptor descriptor = open_file(folder, O_PATH | O_DIRECTORY);
    // Without a slash at the end, as check() has it.
    if (descriptor)
      pinned_.push_back(
          {std::filesystem::absolute(folder / "").lexically_normal().parent_path(), std::move(descriptor)});
  }
  const std::lock_guard lock(pinned_mutex);
  all_pinned.push_back(this);
}

PinnedFolders::~PinnedFolders() {
  const std::lock_guard lock(pinned_mutex);
  all_pinned.remove(this);
}

void PinnedFolders::check_folder(const std::filesystem::path& folder) const {
  for (const Pinned& pinned : pinned_) {
    if (pinned.folder != folder) continue;
    struct stat then {};
    struct stat now {};
    if (::fstat(pinned.descriptor.get(), &then) != 0 || ::stat(folder.c_str(), &now) != 0) continue;
    if (then.st_ino != now.st_ino || then.st_dev != now.st_dev)
      throw UserError(folder.string() +
                      ": another folder has taken its place: nothing is written there (put it back, then run "
                      "again with --resume)");
  }
}

void PinnedFolders::check(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  const IoOperation operation("look at", folder);
  const std::lock_guard lock(pinned_mutex);
  for (const PinnedFolders* const some : all_pinned) {
    some->check_folder(folder.parent_path());
    some->check_folder(folder);
  }
}

}  // namespace skyline::store

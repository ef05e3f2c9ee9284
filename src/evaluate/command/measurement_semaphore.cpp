#include "evaluate/command/measurement_semaphore.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_turns(const fs::path& run) {
  return store::RunPaths{run}.trainer() / "turns";
}

/// Locks a file, and makes it if need be. Returns null if somebody else has the lock.
FileDescriptor try_lock(const fs::path& path) {
  store::make_own_folder(path.parent_path());
  FileDescriptor file = store::open_own(path, O_RDWR | O_CREAT, 0600);
  const store::IoOperation operation("lock", path);
  int failed = 0;
  while ((failed = ::flock(file.get(), LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) continue;
  if (failed == 0) return file;
  if (errno == EWOULDBLOCK) return {};
  throw FaultError("cannot lock " + path.string() + ": " + system_error_text(errno));
}

}  // namespace

MeasurementSemaphore::MeasurementSemaphore(const fs::path& run, const std::string& name, std::uint32_t count)
    : first_(folder_of_turns(run) / to_hex(stable_hash64(name))), count_(count) {}

FileDescriptor MeasurementSemaphore::try_acquire() const {
  for (std::uint32_t turn = 0; turn < count_; ++turn) {
    fs::path path = first_;
    path += "." + std::to_string(turn);
    if (FileDescriptor taken = try_lock(path)) return taken;
  }
  return {};
}

void check_locks(Ranks& ranks, const fs::path& run, const std::string& host) {
  const fs::path path = folder_of_turns(run) / "probe";
  FileDescriptor taken;  // lock that rank 0 holds until all have tried
  std::string problem;
  const auto attempt = [&](bool should_get) {
    try {
      taken = try_lock(path);
      if (!taken && should_get) problem = "somebody else holds the lock " + path.string();
      if (taken && !should_get) {
        problem =
            "a lock on " + path.string() + " that rank 0 has is none on " + host +
            ": `at_once` needs a file system whose locks hold for all hosts (NFS without nolock, Lustre "
            "with flock, BeeGFS with tuneUseGlobalFileLocks)";
      }
    } catch (const Problem& failure) {
      problem = std::string(failure.what()) + ", which `at_once` needs";
    }
  };
  if (ranks.rank() == 0) attempt(true);
  (void)ranks.exchange({});
  if (ranks.rank() > 0) attempt(false);
  const std::vector<std::string> problems = ranks.exchange(problem);
  const auto first = std::ranges::find_if(problems, [](const std::string& each) { return !each.empty(); });
  if (first != problems.end()) throw UserError(*first);
}

}  // namespace skyline::evaluate

#pragma once

#include "report/text/run_status.hpp"
#include "store/publish/storage_thread.hpp"
#include "store/run_folder/run_folder.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>

namespace skyline::report {

/// The status of a run; nothing if no job has written one. @throws UserError: it cannot be read
std::optional<RunStatus> read_status(const store::RunPaths& paths);

/// Publishes status.json away from the caller's thread: a slow file system never holds up the run. A status
/// that comes while the last one is still being written is passed over.
class StatusFile {
 public:
  explicit StatusFile(std::filesystem::path path);
  /// False if it was passed over. A failure is a warning, once.
  bool offer(const RunStatus& status);
  /// Waits for its turn. What is returned is ready when the status is written, or cannot be.
  std::future<void> publish(const RunStatus& status);

 private:
  std::filesystem::path path_;
  std::atomic<bool> busy_ = false;
  bool warned_ = false;          // the storage thread's
  store::StorageThread thread_;  // last: ends before what its jobs use
};

/// Writes into status.json how a job ended, for scripts: the last act of a job that has the run folder. A
/// silent file system holds it up no longer than `patience`; what cannot be written is a warning.
void publish_end(const store::RunPaths& paths, const JobEnding& ending,
                 std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace skyline::report

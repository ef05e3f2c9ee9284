#pragma once

#include "report/text/run_status.hpp"
#include "store/publish/storage_thread.hpp"
#include "store/run_folder/run_folder.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>

namespace skyline::report {

/// Reads the status of a run; nullopt if no job has written one, or it cannot be read, which the log says.
std::optional<RunStatus> read_status(const store::RunPaths& paths);

/// Publishes status.json on another thread, so that a slow file system never holds up the run. A status that
/// is offered while the last one is still being written is dropped.
class StatusFile {
 public:
  explicit StatusFile(std::filesystem::path path);
  /// Returns false if the status was dropped. The first failure is logged as a warning.
  bool offer(const RunStatus& status);
  /// Publishes the status after those before it. The future is ready when it is written, or cannot be.
  std::future<void> publish(const RunStatus& status);

 private:
  std::filesystem::path path_;
  std::atomic<bool> busy_ = false;
  bool warned_ = false;          // used by the storage thread only
  store::StorageThread thread_;  // the last member, because its jobs use the others
};

/// Writes into status.json how a job ended, for scripts: the last act of a job that has the run folder. It
/// waits for a silent file system no longer than `patience`; a failure is logged as a warning.
/// @param may_write  asked before, on the thread that writes; empty for yes
void publish_end(const store::RunPaths& paths, const JobEnding& ending,
                 std::chrono::milliseconds patience = std::chrono::seconds(10),
                 std::function<bool()> may_write = {});

}  // namespace skyline::report

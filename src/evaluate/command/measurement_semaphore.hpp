#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

#include "core/system/open_file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace skyline::evaluate {

/// The turns at something of which there are few, such as a board: at most so many are taken at a time, by
/// all ranks and hosts of a run. A turn is a lock on a file of the run's folder (flock), which the system
/// frees when the last process that has the descriptor is gone, however it ended. Any thread may use it.
class MeasurementSemaphore {
 public:
  /// @param name  tells what the turns are for; equal on all ranks
  MeasurementSemaphore(const std::filesystem::path& run, const std::string& name, std::uint32_t count);
  /// Takes a turn until the descriptor is closed, or returns null if none is free. Never waits.
  /// @throws FaultError if the file system gives no locks
  FileDescriptor try_acquire() const;

 private:
  std::filesystem::path first_;  // the other files have numbers after this name
  std::uint32_t count_;
};

/// Checks that a lock that rank 0 has is one for all other ranks. Collective.
/// @throws UserError on all ranks if the file system of the run's folder gives no locks, or each host its own
void check_locks(Ranks& ranks, const std::filesystem::path& run, const std::string& host);

}  // namespace skyline::evaluate

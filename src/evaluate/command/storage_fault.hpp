#pragma once

#include "skyline/core/error.hpp"
#include "skyline/trial/evaluator.hpp"

#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// Folders on the file systems in which a program of a trial writes. They stay when its own files are gone.
struct WrittenPlaces {
  std::filesystem::path folder;     // location of the trial's folder
  std::filesystem::path temporary;  // location of its TMPDIR
  std::filesystem::path cache = {};
};

/// What the storage of a host did to a program: no room, a quota, a disk or a file server that failed.
struct StorageFault {
  int error = 0;                     // ENOSPC, EDQUOT, EIO, ESTALE, ...
  std::filesystem::path place = {};  // location of the fault; empty if only the program's log states it
  std::string name = {};             // the name for messages: "its folder"

  std::string to_text() const;  // "No space left on device in its folder"
};

/// Looks whether the storage was the reason why a program has failed: at the places, which still have the
/// program's files, at what the system said by these lines, e.g. the end of the log, and whether the log
/// lacks text.
/// @param log_error  see ProcessEnd
std::optional<StorageFault> find_storage_fault(const WrittenPlaces& places,
                                               const std::vector<std::string>& lines, int log_error = 0);

/// Returns the failure of a trial that has met a full disk although it had room. Call it when the trial's own
/// files are gone. Returns nullopt if others fill the disk, or if the fault is another one.
std::optional<trial::Failure> failure_by_own_files(const StorageFault& fault, const WrittenPlaces& places);

/// The first fault of a rank: it lacks something, such as room for a folder or a process, which is no fault
/// of a trial, so the job ends. Slot threads share it.
class HostFault {
 public:
  std::exception_ptr first() const;
  void note(std::exception_ptr fault);
  /// Calls a function, and notes a fault that it throws. Mistakes are not noted.
  template <typename Call>
  auto watch(const Call& call) {
    try {
      return call();
    } catch (const FaultError&) {
      note(std::current_exception());
      throw;
    } catch (const std::filesystem::filesystem_error& fault) {
      note(std::make_exception_ptr(FaultError(fault.what())));
      throw;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr first_;  // guarded by the mutex
};

/// The patience of a rank with its storage, for programs. Such a fault is nobody's failure: the trial has no
/// result, and is tried again when nothing is wrong any more, as long as `run.storage_patience` allows. Slot
/// threads share it.
class StoragePatience {
 public:
  /// Notes that a program has ended without such a fault.
  void relieve();
  /// Waits after an attempt without a result; each time in a row a little longer. Returns its failure, that
  /// of a stop, or at once failure_by_own_files(). The other members of the trial hear of the failure first.
  /// @param fault  nullopt if nothing tells of it any more
  /// @throws FaultError if it has waited too long in a row; the attempts themselves do not count
  trial::Failure wait(const trial::Trial& trial, trial::EvaluationContext& context, trial::Failure failure,
                      const std::optional<StorageFault>& fault, const WrittenPlaces& places);

 private:
  std::mutex mutex_;
  double waited_s_ = 0;  // guarded by the mutex; in a row
};

}  // namespace skyline::evaluate

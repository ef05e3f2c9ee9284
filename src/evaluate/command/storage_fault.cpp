#include "evaluate/command/storage_fault.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/folder_check.hpp"
#include "store/publish/retry_policy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using trial::Failure;
using trial::FailureKind;

constexpr std::chrono::milliseconds kPollStorage(50);
constexpr double kShortestPause_s = 0.1;  // between two attempts
constexpr double kLongestPause_s = 10;
// What is room for a trial on a disk of any size: as much as `command.folder_limit` allows by default.
constexpr std::uint64_t kAmpleBytes = std::uint64_t{10} << 30U;
constexpr std::uint64_t kAmpleFiles = 100'000;
// Less is room where only words tell of a full disk, which may then be another one.
constexpr std::uint64_t kAmpleBytesByWords = std::uint64_t{1} << 30U;

struct Words {
  std::string_view text;  // in small letters
  int error;
};
/// What the system says through programs. NumPy and PyTorch say less of a write that was cut short.
constexpr std::array kWords{Words{"no space left on device", ENOSPC},
                            Words{"enospc", ENOSPC},
                            Words{"errno 28", ENOSPC},
                            Words{"pytorchstreamwriter failed writing", ENOSPC},
                            Words{"disk quota exceeded", EDQUOT},
                            Words{"edquot", EDQUOT},
                            Words{"errno 122", EDQUOT},
                            Words{"input/output error", EIO},
                            Words{"eio", EIO},
                            Words{"errno 5", EIO},
                            Words{"stale file handle", ESTALE},
                            Words{"stale nfs file handle", ESTALE},
                            Words{"estale", ESTALE},
                            Words{"errno 116", ESTALE}};

/// Returns whether a line has the words, and they are no part of longer ones.
bool has_words(std::string_view line, std::string_view words) {
  const auto is_letter = [&](std::size_t i) {
    return i < line.size() && (std::isalnum(static_cast<unsigned char>(line[i])) != 0 || line[i] == '_');
  };
  for (std::size_t at = line.find(words); at != std::string_view::npos; at = line.find(words, at + 1)) {
    if (!(at > 0 && is_letter(at - 1)) && !is_letter(at + words.size())) return true;
  }
  return false;
}

/// Returns the error that the system gave to a program, by the program's last lines, or 0.
int error_in(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::string lower = lower_case(line);
    for (const Words& words : kWords) {
      if (has_words(lower, words.text)) return words.error;
    }
    if (has_words(lower, "requested and") && has_words(lower, "written")) return ENOSPC;  // numpy.save
  }
  return 0;
}

std::vector<StorageFault> places_by_name(const WrittenPlaces& places) {
  std::vector<StorageFault> named{{0, places.folder, "its folder"}, {0, places.temporary, "its TMPDIR"}};
  if (!places.cache.empty()) named.push_back({0, places.cache, "the cache"});
  return named;
}

std::optional<StorageFault> fault_now(const WrittenPlaces& places) {
  for (StorageFault& each : places_by_name(places)) {
    each.error = store::find_storage_fault(each.place).error;
    if (each.error != 0) return std::move(each);
  }
  return std::nullopt;
}

/// Returns whether a program had most of a disk, or enough, for itself.
bool is_ample(const store::FolderRoom& room, std::uint64_t enough) {
  const bool has_files =
      room.total_files == 0 || room.free_files > std::min(room.total_files / 2, kAmpleFiles);
  return has_files && room.free_bytes > std::min(room.total_bytes / 2, enough);
}

[[noreturn]] void give_up(const std::string& trial, const Failure& failure,
                          const std::optional<StorageFault>& fault) {
  try {
    if (fault && !fault->place.empty()) {
      store::fail_system("train " + trial + " in", fault->place, "", fault->error);
    }
  } catch (const UserError& mistake) {  // a read-only file system is no mistake of the trial's
    throw FaultError(mistake.what());
  }
  const bool lacks_room = fault && (fault->error == ENOSPC || fault->error == EDQUOT);
  throw FaultError(
      trial + " meets this at each try: " + failure.reason +
      (lacks_room ? " (free some space and run again)" : " (mend that, then run again with --resume)"));
}

}  // namespace

std::string StorageFault::to_text() const {
  return system_error_text(error) + (name.empty() ? "" : " in " + name);
}

std::optional<StorageFault> find_storage_fault(const WrittenPlaces& places,
                                               const std::vector<std::string>& lines, int log_error) {
  if (std::optional<StorageFault> fault = fault_now(places)) return fault;
  const int error = log_error != 0 ? log_error : error_in(lines);
  if (error == 0) return std::nullopt;
  return StorageFault{.error = error};
}

std::optional<Failure> failure_by_own_files(const StorageFault& fault, const WrittenPlaces& places) {
  if (fault.error != ENOSPC) return std::nullopt;
  for (const StorageFault& each : places_by_name(places)) {
    if (!fault.place.empty() && each.name != fault.name) continue;
    const store::FolderRoom room = store::room_in(each.place);
    if (!is_ample(room, fault.place.empty() ? kAmpleBytesByWords : kAmpleBytes)) return std::nullopt;
    if (fault.place.empty()) continue;
    log::info(fault.place.string() + ": " + std::to_string(room.free_bytes / 1'000'000) + " MB of " +
              std::to_string(room.total_bytes / 1'000'000) + " MB are free without the trial's files");
  }
  return Failure{FailureKind::kFilledStorage, "its files filled a disk"};
}

std::exception_ptr HostFault::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

void HostFault::note(std::exception_ptr fault) {
  const std::lock_guard lock(mutex_);
  if (first_ == nullptr) first_ = std::move(fault);
}

void StoragePatience::relieve() {
  const std::lock_guard lock(mutex_);
  waited_s_ = 0;
}

Failure StoragePatience::wait(const trial::Trial& trial, trial::EvaluationContext& context, Failure failure,
                              const std::optional<StorageFault>& fault, const WrittenPlaces& places) {
  if (context.group() != nullptr) context.group()->abort(failure);
  if (fault) {
    if (std::optional<Failure> own = failure_by_own_files(*fault, places)) return *std::move(own);
  }
  const trial::TrialWait storage(context);
  const std::string name = "trial " + to_text(trial.name());
  const auto began = std::chrono::steady_clock::now();
  const double earlier_s = [&] {
    const std::lock_guard lock(mutex_);
    return waited_s_;
  }();
  log::warning(name + ": " + failure.reason +
               (fault && !fault->place.empty() ? ", " + fault->place.string() : "") +
               ": it has no result, and is tried again for " + seconds_text(store::patience_s()));
  double pause_s = std::clamp(earlier_s / 2, kShortestPause_s, kLongestPause_s);
  while (!context.control().stop_requested()) {
    if (earlier_s + seconds_since(began) >= store::patience_s()) give_up(name, failure, fault);
    if (seconds_since(began) >= pause_s) {
      if (!fault_now(places)) {
        const std::lock_guard lock(mutex_);  // slots that wait together have waited once
        waited_s_ = std::max(waited_s_, earlier_s + seconds_since(began));
        return failure;
      }
      pause_s = std::min(2 * seconds_since(began), seconds_since(began) + kLongestPause_s);
    }
    std::this_thread::sleep_for(kPollStorage);
  }
  return {FailureKind::kStopped, "stopped on request"};
}

}  // namespace skyline::evaluate

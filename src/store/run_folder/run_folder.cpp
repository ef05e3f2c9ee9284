#include "store/run_folder/run_folder.hpp"

#include "store/run_folder/claim_record.hpp"
#include "store/run_folder/file_claim.hpp"

namespace skyline::store {
namespace {

constexpr double kHeartbeat_s = 10;

}  // namespace

std::optional<RunOwner> read_owner(const RunPaths& paths) {
  const std::optional<ClaimRecord> record = read_claim_record(paths.owner());
  if (!record) return std::nullopt;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return RunOwner{record->host, record->process, record->age_s(now), !record->is_stale(now)};
}

std::unique_ptr<RunClaim> RunClaim::take(const RunPaths& paths) {
  return keep_claim(take_file_claim(paths, kHeartbeat_s), kHeartbeat_s);
}

}  // namespace skyline::store

#include "engine/dispatch/host_records.hpp"

#include <algorithm>

namespace skyline::engine {

void HostRecords::succeeded(trial::TrialName trial, const std::string& host,
                            std::span<const store::FailedTry> earlier) {
  records_[host] = {true, {}};
  for (const store::FailedTry& failed : earlier) {
    auto& failures = records_[failed.host].failures;
    if (const auto found = failures.find(trial); found != failures.end()) found->second = true;
  }
}

void HostRecords::failed(trial::TrialName trial, const std::string& host,
                         const std::set<std::string>& earlier) {
  records_[host].failures.emplace(trial, false);
  const bool fails_by_itself = earlier.size() > (earlier.contains(host) ? 1 : 0);
  if (!fails_by_itself) return;
  records_[host].failures.erase(trial);
  for (const std::string& other : earlier) records_[other].failures.erase(trial);
}

bool HostRecords::in_doubt(const std::string& host) const {
  const auto found = records_.find(host);
  if (found == records_.end() || found->second.failures.empty()) return false;
  return !found->second.was_good || found->second.failures.size() >= kDoubtful;
}

std::size_t HostRecords::failures_of_bad(const std::string& host) const {
  const auto found = records_.find(host);
  if (found == records_.end() || found->second.failures.size() < kBad) return 0;
  const auto& failures = found->second.failures;
  const bool good_elsewhere =
      std::ranges::any_of(failures, [](const auto& failure) { return failure.second; });
  return good_elsewhere ? failures.size() : 0;
}

}  // namespace skyline::engine

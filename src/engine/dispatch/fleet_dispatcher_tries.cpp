#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/dispatch/fleet_dispatcher.hpp"
#include "engine/slots/trial_folders.hpp"

#include <string>
#include <utility>
#include <variant>

// The part of FleetDispatcher that handles tries that have failed.

namespace skyline::engine {

std::set<std::string> FleetDispatcher::hosts_of(const Placement& place) const {
  std::set<std::string> hosts;
  for (const std::size_t rank : place.ranks) hosts.insert(options_.ranks.hosts[rank]);
  return hosts;
}

/// Returns whether a failure of the trial's program may be that of its host: it has failed on no other one,
/// all of the trial is on one host, and another one trains.
bool FleetDispatcher::may_fail_by_its_host(const Submitted& submitted) const {
  const std::set<std::string> hosts = hosts_of(*submitted.place);
  return hosts.size() == 1 && scheduler_.trains_beside(*hosts.begin()) &&
         (submitted.failing_hosts.empty() || submitted.failing_hosts == hosts);
}

/// Takes the end of a try into the records of its hosts, and decides whether a failure in doubt counts.
void FleetDispatcher::judge(Arrival& arrival, const Submitted& submitted) {
  const std::set<std::string> hosts = hosts_of(*submitted.place);
  const auto* failure = std::get_if<trial::Failure>(&arrival.outcome);
  if (trial::is_outside(arrival.outcome)) return;  // nothing was trained
  if (failure == nullptr) {
    for (const std::string& host : hosts) records_.succeeded(arrival.trial, host, submitted.failed_tries);
  } else if (arrival.stopped() || failure->kind == trial::FailureKind::kDiverged || hosts.size() > 1 ||
             failure->is_of_storage()) {
    return;
  } else {
    records_.failed(arrival.trial, *hosts.begin(), submitted.failing_hosts);
  }
  for (const std::string& host : hosts) judge_host(host);
  for (const store::FailedTry& earlier : submitted.failed_tries) judge_host(earlier.host);
  if (!arrival.in_doubt) return;
  arrival.again = records_.in_doubt(*hosts.begin()) && scheduler_.trains_beside(*hosts.begin());
  if (!arrival.again) keep(arrival, submitted);
}

/// Keeps a failure that counts although its rank has kept nothing of it.
void FleetDispatcher::keep(const Arrival& arrival, const Submitted& submitted) {
  results_.add({.trial = *submitted.trial, .outcome = arrival.outcome, .timing = arrival.timing});
  if (options_.engine.folders) {
    remove_trial_folders(options_.files, {arrival.trial});
  } else {
    results_.leaves_checkpoint(arrival.trial);
  }
}

void FleetDispatcher::judge_host(const std::string& host) {
  scheduler_.set_in_doubt(host, records_.in_doubt(host));
  if (const std::size_t failures = records_.failures_of_bad(host); failures > 0) {
    retire(host, "has failed its last " + counted(failures, "trial") + ", and another host trains them");
  }
}

void FleetDispatcher::retire(const std::string& host, const std::string& deed) {
  if (retired_.contains(host) || !scheduler_.retire(host)) return;
  retired_[host] = deed;
  log::warning(host + " " + deed + ": it gets no more trials");
}

/// Makes a full disk the failure of a trial that has met one twice, now while no other trial trained.
void FleetDispatcher::fail_if_filled(Arrival& arrival, const Submitted& submitted) {
  auto& failure = std::get<trial::Failure>(arrival.outcome);
  if (failure.kind != trial::FailureKind::kFilledStorage) return;
  failure.kind = trial::FailureKind::kProgram;
  arrival.again = arrival.unsaved = arrival.begins_again = false;
  keep(arrival, submitted);
}

/// After an attempt without a result, another host makes the next one, if there is another, else another
/// rank; a group's goes to any block there.
void FleetDispatcher::try_again(const Arrival& arrival) {
  const auto found = trials_.find(arrival.trial);
  if (stopping_) {
    trials_.erase(found);
    return;
  }
  Submitted& submitted = found->second;
  const auto& failure = std::get<trial::Failure>(arrival.outcome);
  const std::string& host = options_.ranks.hosts[static_cast<std::size_t>(arrival.timing.rank)];
  submitted.alone |= failure.kind == trial::FailureKind::kFilledStorage;
  if (!failure.is_of_storage()) {
    if (!arrival.in_doubt) ++submitted.tried;
    submitted.failed_tries.push_back({arrival.timing.rank, host, failure.reason});
    if (failure.kind == trial::FailureKind::kProgram) submitted.failing_hosts.insert(host);
    for (run::RunListener* listener : *options_.listeners) {
      listener->failed(arrival.trial, submitted.failed_tries.back());
    }
  }
  for (const std::size_t tried : submitted.place->ranks) submitted.tried_on.push_back(tried);
  const std::string next = arrival.in_doubt
                               ? "it may be " + host + " that fails: another host tries once more"
                               : "it is tried once more";
  log::info("trial " + to_text(arrival.trial) + " on rank " + std::to_string(arrival.timing.rank) + ": " +
            failure.reason + "; " + next + (submitted.alone ? ", alone" : ""));
  submit_again(arrival.trial, submitted);
}

}  // namespace skyline::engine

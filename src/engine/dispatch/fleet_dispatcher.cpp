#include "engine/dispatch/fleet_dispatcher.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/loop/trial_maker.hpp"
#include "engine/slots/trial_folders.hpp"
#include "trial/trial_record.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace skyline::engine {
namespace {

constexpr std::uint32_t kAloneAfter = 2;  // number of losses after which it trains alone, since it may be
                                          // what ends its ranks

constexpr std::uint32_t kFailsAfter = 4;  // number of losses, the last two of them alone
constexpr int kMostOfAHost = 3;           // number of losses

bool is_on(const std::optional<Placement>& place, std::size_t rank) {
  return place && std::ranges::find(place->ranks, rank) != place->ranks.end();
}

trial::Failure ended_ranks() {
  return {trial::FailureKind::kException, "ended 4 ranks, the last 2 while it trained alone"};
}

}  // namespace

FleetDispatcher::FleetDispatcher(FleetChannel& mail, FleetOptions options, SlotPool& own_slots,
                                 ResultKeeper& results)
    : mail_(mail),
      options_(std::move(options)),
      own_slots_(own_slots),
      results_(results),
      scheduler_(options_.ranks, mail.prefetch_s()) {
  if (!mail_.outlives_ranks()) return;
  watch_.emplace(options_.processes, steady_now_s(),
                 [this](std::size_t rank) { return mail_.has_died(rank); });
  watch_->leave(0);
}

void FleetDispatcher::submit(std::span<const AskedTrial> trials) {
  for (const AskedTrial& trial : trials) {
    const auto [place, is_new] = trials_.emplace(trial->name(), Submitted{trial});
    require(is_new, "a trial is submitted while it is under way");
    submit(place->first, place->second);
  }
}

void FleetDispatcher::submit(trial::TrialName name, const Submitted& submitted) {
  const bool alone = options_.alone.contains(name) || submitted.losses >= kAloneAfter || submitted.alone;
  const trial::Trial& trial = *submitted.trial;
  scheduler_.submit(name, {static_cast<double>(trial.cost), trial.members, alone, submitted.tried_on});
}

/// Submits the trial again; the previous attempt is abandoned.
void FleetDispatcher::submit_again(trial::TrialName name, Submitted& submitted) {
  submitted.place.reset();
  ++submitted.attempt;
  for (run::RunListener* listener : *options_.listeners) listener->again(name);
  submit(name, submitted);
}

std::span<Arrival> FleetDispatcher::poll() {
  arrivals_.clear();
  receive_own_results();
  receive_messages();
  handle_lost_ranks();
  send_journalled();
  while (const auto next = scheduler_.next()) start(*next);
  return arrivals_;
}

void FleetDispatcher::receive_own_results() {
  for (const TrainedPart& part : own_slots_.take_trained()) {
    scheduler_.ended(part.trial, 0, part.slot, part.seconds);
  }
  for (Arrival& arrival : own_slots_.take_arrivals()) arrived(std::move(arrival));
}

void FleetDispatcher::receive_messages() {
  const double now_s = steady_now_s();
  while (const auto message = mail_.receive()) {
    const auto rank = static_cast<std::size_t>(message->from);
    if (watch_) watch_->heard(rank, now_s);
    if (message->kind == MessageKind::kResult) {
      arrived(from_record<Arrival>(message->content));
    } else if (message->kind == MessageKind::kTrained) {
      const TrainedPart part = from_record<TrainedPart>(message->content);
      scheduler_.ended(part.trial, rank, part.slot, part.seconds);
    } else if (message->kind == MessageKind::kStop) {
      stop_wanted_ = true;
    } else if (message->kind == MessageKind::kClosed) {
      gone_.insert(message->from);
      mail_.lose(message->from);
      if (watch_) watch_->leave(rank);
    } else if (message->kind == MessageKind::kStuck) {
      mark_stuck(from_record<trial::TrialName>(message->content));
    } else if (message->kind == MessageKind::kFailed) {
      lose({rank, "it has failed", true});
    } else {
      require(message->kind == MessageKind::kAlive, "a message that rank 0 does not expect");
    }
  }
}

void FleetDispatcher::arrived(Arrival arrival) {
  const trial::TrialTiming& timing = arrival.timing;
  scheduler_.ended(arrival.trial, static_cast<std::size_t>(timing.rank),
                   static_cast<std::size_t>(timing.slot), arrival.whole_s());
  const auto found = trials_.find(arrival.trial);
  const bool is_late = found == trials_.end() || found->second.attempt != arrival.attempt;
  require(!is_late || arrival.follower || lost_ranks_, "a result of a trial that is not under way");
  if (!is_late && !arrival.follower) judge(arrival, found->second);
  if (arrival.again && !is_late && found->second.alone) fail_if_filled(arrival, found->second);
  if (arrival.again && !is_late) try_again(arrival);
  if (is_late || arrival.again) arrival.follower = true;  // only its time counts
  if (!arrival.follower) {
    trials_.erase(found);
    if (timing.rank != 0 && !arrival.stopped() && !arrival.in_doubt) holders_[arrival.trial] = timing.rank;
  }
  arrivals_.push_back(std::move(arrival));
}

/// Tells ranks which results are in the journal; they keep the others.
void FleetDispatcher::send_journalled() {
  std::map<int, std::vector<trial::TrialName>> durable;
  for (const trial::TrialName trial : results_.take_journalled()) {
    const auto holder = holders_.find(trial);
    if (holder == holders_.end()) continue;
    durable[holder->second].push_back(trial);
    holders_.erase(holder);
  }
  for (const auto& [rank, trials] : durable) mail_.send_journalled(rank, trials);
}

void FleetDispatcher::start(const Scheduler::Start& start) {
  Submitted& submitted = trials_.at(start.trial);
  submitted.place = start.place;
  warn_of_time(submitted, start.place.ranks.size());
  const bool has_failed = !submitted.failed_tries.empty();
  Assignment assignment{.trial = submitted.trial,
                        .group = {},
                        .attempt = submitted.attempt,
                        .tried = submitted.tried,
                        .losses = submitted.losses,
                        .last_failure = has_failed ? submitted.failed_tries.back().reason : "",
                        .in_doubt = may_fail_by_its_host(submitted)};
  if (const std::uint32_t members = submitted.trial->members; members > 1) {
    submitted.sequence = ++groups_;
    assignment.group = {groups_, members, {start.place.ranks.begin(), start.place.ranks.end()}};
    warn_of_crowd(*assignment.group);
  }
  for (const std::size_t rank : start.place.ranks) {
    if (rank == 0) {
      Assignment own = assignment;  // a copy, because the network that the slot builds is destroyed with it
      own.trial = std::make_shared<const trial::Trial>(without_network(*own.trial));
      own_slots_.submit(start.place.slot, std::move(own));
    } else {
      mail_.send_trial(static_cast<int>(rank), start.place.slot, assignment);
    }
  }
}

void FleetDispatcher::warn_of_crowd(const GroupPlace& group) {
  const std::size_t processors = options_.ranks.processors[static_cast<std::size_t>(group.ranks.front())];
  if (warned_of_crowd_ || group.members_of(0) <= processors) return;
  warned_of_crowd_ = true;
  log::warning(
      "a group of " + std::to_string(group.members) + " members has " + std::to_string(group.members_of(0)) +
      " on a rank with " + std::to_string(processors) + (processors == 1 ? " processor" : " processors") +
      ": right, but slower than alone; start more ranks" +
      (options_.engine.members_key.empty() ? "" : ", or set " + options_.engine.members_key + " lower"));
}

void FleetDispatcher::warn_of_time(const Submitted& submitted, std::size_t ranks) {
  if (warned_of_time_ || !options_.engine.trial_timeout_s) return;
  const std::optional<double> forecast_s =
      scheduler_.forecast_s(static_cast<double>(submitted.trial->cost) / static_cast<double>(ranks));
  if (!forecast_s || *forecast_s <= *options_.engine.trial_timeout_s) return;
  warned_of_time_ = true;
  log::warning("trial " + to_text(submitted.trial->name()) + " is expected to take " +
               seconds_text(*forecast_s) + ": longer than run.trial_timeout");
}

void FleetDispatcher::tell_all(MessageKind kind) {
  for (int rank = 1; rank < ranks(); ++rank) mail_.send(rank, kind);
}

void FleetDispatcher::stop() {
  stopping_ = true;
  for (const trial::TrialName trial : scheduler_.drop_waiting()) trials_.erase(trial);
  tell_all(MessageKind::kStop);
  own_slots_.request_stop();
}

void FleetDispatcher::finish(const std::function<void()>& check) {
  require(idle(), "the run ends with trials that are not done");
  ending_ = true;
  send_journalled();
  tell_all(MessageKind::kEnd);
  arrivals_.clear();
  for (Backoff backoff; std::ssize(gone_) < ranks() - 1; backoff.pause()) {
    check();
    receive_messages();
    handle_lost_ranks();
  }
  require(std::ranges::all_of(arrivals_, &Arrival::follower), "a result came after the run's end");
  mail_.close();
}

void FleetDispatcher::handle_lost_ranks() {
  if (!watch_) return;
  const double limit_s = longest_silence_s(options_.engine.lost_after_s, stopping_);
  for (const FailureDetector::Loss& loss : watch_->losses(steady_now_s(), limit_s)) lose(loss);
}

void FleetDispatcher::lose(const FailureDetector::Loss& loss) {
  const int rank = static_cast<int>(loss.rank);
  if (!gone_.insert(rank).second) return;
  lost_ranks_ = true;
  if (!loss.ends) mail_.send(rank, MessageKind::kAbort);  // in case that it comes back
  mail_.lose(rank);
  watch_->leave(loss.rank);
  if (!loss.ends) end_process(rank);  // a failing rank will still say why
  store::RankLoss told{rank, options_.ranks.hosts[loss.rank], loss.cause, {}};
  for (const auto& [name, submitted] : trials_) {
    if (is_on(submitted.place, loss.rank)) told.trials.push_back(name);
  }
  std::ranges::sort(told.trials);
  log::warning(
      "rank " + std::to_string(rank) + " on " + told.host + " is lost (" + loss.cause +
      "): the run goes on without it" +
      (told.trials.empty() ? "" : ", and trains " + counted(told.trials.size(), "trial") + " again"));
  for (run::RunListener* listener : *options_.listeners) listener->lost(told);
  if (ending_) return;
  std::erase_if(holders_, [&](const auto& entry) { return entry.second == rank; });
  scheduler_.lose(loss.rank);
  if (++losses_of_host_[told.host] == kMostOfAHost) {
    retire(told.host, "has lost " + counted(kMostOfAHost, "rank"));
  }
  for (const trial::TrialName name : told.trials) send_again(name);
}

/// Ends the process of a lost rank. A rank that hangs may wake up one day, and holds its device until then,
/// so a rank of its host kills it.
void FleetDispatcher::end_process(int rank) {
  const RankProcess& process = options_.processes[static_cast<std::size_t>(rank)];
  if (process.kill(options_.processes[0])) return;
  for (int other = 1; other < ranks(); ++other) {
    const RankProcess& neighbour = options_.processes[static_cast<std::size_t>(other)];
    if (neighbour.place == process.place && !gone_.contains(other))
      return mail_.send(other, MessageKind::kKill, process);
  }
}

/// Tells the other ranks of a group not to wait for the lost one.
void FleetDispatcher::give_up_group(const Submitted& submitted) {
  const Placement& place = *submitted.place;
  if (place.ranks.size() == 1) return;
  for (const std::size_t rank : place.ranks) {
    if (rank == 0) {
      own_slots_.give_up(submitted.sequence);
    } else {
      mail_.send(static_cast<int>(rank), MessageKind::kGiveUp, submitted.sequence);
    }
  }
}

void FleetDispatcher::send_again(trial::TrialName name) {
  Submitted& submitted = trials_.at(name);
  give_up_group(submitted);
  ++submitted.losses;
  if (!stopping_ && !submitted.stuck && submitted.losses < kFailsAfter) return submit_again(name, submitted);
  if (!stopping_) {
    Arrival failed{name, submitted.stuck ? took_too_long() : ended_ranks(), {}};
    failed.timing.rank = static_cast<std::int32_t>(submitted.place->ranks.front());
    failed.timing.slot = static_cast<std::int32_t>(submitted.place->slot);
    arrivals_.push_back(std::move(failed));
  }
  trials_.erase(name);
}

/// Marks a stuck trial; its rank ends itself, and is then lost.
void FleetDispatcher::mark_stuck(trial::TrialName name) {
  const auto found = trials_.find(name);
  if (found == trials_.end()) return;
  Submitted& submitted = found->second;
  submitted.stuck = submitted.tried++ > 0;
}

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
